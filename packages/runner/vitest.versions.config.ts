import { defineConfig } from 'vitest/config'

const conditions = ['@chirality/source', 'node', 'import', 'default']

/** `npm run test:versions`: the same few behaviours with releases of the agents that `npm test` never runs. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['test/versions/*.versions.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 1,
    isolate: false,
    env: { TSX_DISABLE_CACHE: '1' },
  },
})
