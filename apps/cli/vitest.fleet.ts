import { defineConfig } from 'vitest/config'

const conditions = ['@chirality/source', 'node', 'import', 'default']

/** `npm run test:fleet`: the commands of a fleet, with a real `nats-server`. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['test/**/*.fleet.ts'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 1,
    env: { TSX_DISABLE_CACHE: '1' },
  },
})
