import { defineConfig } from 'vitest/config'

/**
 * The one test set-up all packages share. Sources are read through the `@chirality/source` export
 * condition, so a test never runs against a stale build of a neighbour.
 */
export function packageTests(overrides: Record<string, unknown> = {}) {
  const conditions = ['@chirality/source', 'node', 'import', 'default']
  return defineConfig({
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
      testTimeout: 60_000,
      hookTimeout: 60_000,
      // Real CLIs want a core each; two files at once is what a two-core machine carries.
      maxWorkers: 2,
      // Programs that tests start with tsx would leave its cache in the system's temporary folder.
      env: { TSX_DISABLE_CACHE: '1' },
      reporters: ['default', ['json', { outputFile: '.test-results.json' }]],
      ...overrides,
    },
  })
}
