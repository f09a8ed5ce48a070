import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

export interface PackageTests {
  /** The longest files, by how their path in the package begins: started first, so that none of them is left alone at the end. */
  longest?: string[]
}

/**
 * The one test set-up all packages share. Sources are read through the `@chirality/source` export
 * condition, so a test never runs against a stale build of a neighbour.
 */
export function packageTests({ longest = [] }: PackageTests = {}) {
  const conditions = ['@chirality/source', 'node', 'import', 'default']
  return defineConfig({
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      // Only there to end what hangs: a slow machine may take its time. Vitest itself would give a poll one second.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 60_000 } },
      // `npm test` runs two packages at once: four files on two cores, because much of their time is waiting for agents and disks.
      maxWorkers: Math.max(2, Math.ceil(availableParallelism() / 2)),
      sequence: { sequencer: longestFirst(longest) },
      // Programs that tests start with tsx would leave its cache in the system's temporary folder.
      env: { TSX_DISABLE_CACHE: '1' },
      reporters: ['default', ['json', { outputFile: '.test-results.json' }]],
      projects: [
        { extends: true, test: { name: 'whole', include: ['test/**/*.test.ts'] } },
        // Tests of single modules need no process of their own for each file: to start it and load all anew takes longer than they do.
        { extends: true, test: { name: 'units', include: ['src/**/*.test.{ts,tsx}'], isolate: false } },
      ],
    },
  })
}

function longestFirst(beginnings: string[]) {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const rank = ({ moduleId, project }: TestSpecification) => {
        const file = moduleId.slice(project.config.root.length + 1)
        if (beginnings.some(beginning => file.startsWith(beginning))) return 0
        return file.startsWith('test/') ? 1 : 2
      }
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
    }
  }
}
