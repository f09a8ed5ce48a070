import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

export interface PackageTests {
  /** The longest files, by how their path in the package begins: started first, so that none of them is left alone at the end. */
  longest?: string[]
  /** Files with a process to themselves, because they look at it: at its memory, at what it watches, at its globals. */
  alone?: string[]
}

/**
 * The one test set-up all packages share. Sources are read through the `@chirality/source` export
 * condition, so a test never runs against a stale build of a neighbour.
 */
export function packageTests({ longest = [], alone = [] }: PackageTests = {}) {
  const conditions = ['@chirality/source', 'node', 'import', 'default']
  return defineConfig({
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      // They only end what hangs: on a busy machine of two cores a test takes ten times as long as on an idle one. What is polled
      // gives up before, to say what it saw.
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
        // Files take turns in the same processes: to start one for each and load all anew takes most of a second of a core, which
        // is longer than many of them need. No test changes what another finds: each has folders, servers and agents of its own.
        {
          extends: true,
          test: {
            name: 'whole',
            include: WHOLE,
            exclude: [...configDefaults.exclude, ...alone],
            isolate: false,
          },
        },
        ...(alone.length > 0 ? [{ extends: true as const, test: { name: 'alone', include: alone } }] : []),
        { extends: true, test: { name: 'units', include: ['src/**/*.test.{ts,tsx}'], isolate: false } },
      ],
    },
  })
}

const WHOLE = ['test/**/*.test.ts']

function longestFirst(beginnings: string[]) {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const rank = ({ moduleId, project }: TestSpecification) => {
        const file = moduleId.slice(project.config.root.length + 1)
        if (beginnings.some(beginning => file.startsWith(beginning))) return 0
        // Together: the next file can use the same process only if it may share it.
        return ['whole', 'alone', 'units'].indexOf(project.name) + 1
      }
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
    }
  }
}
