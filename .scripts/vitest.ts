import { availableParallelism } from 'node:os'
import path from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { useTestFolder } from './test-folder.ts'

export interface PackageTests {
  /**
   * The longest files, by the beginning of their path in the package. They start first, so that none runs alone at the
   * end.
   */
  longest?: string[]
  /** Files that need their own process, because they inspect its memory, watchers or globals. */
  alone?: string[]
  /** Run before each file of tests. */
  setupFiles?: string[]
}

/** `npm run test:fleet`: the tests that need a real `nats-server`. Without one they fail, and say how to get it. */
export function fleetTests() {
  useTestFolder()
  return defineConfig({
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
}

const conditions = ['@chirality/source', 'node', 'import', 'default']

/**
 * The test configuration of all packages. Sources are resolved through the `@chirality/source` export condition, so a
 * test never runs against a stale build of another package.
 */
export function packageTests({ longest = [], alone = [], setupFiles = [] }: PackageTests = {}) {
  useTestFolder()
  return defineConfig({
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      setupFiles: process.env.CHIRALITY_TEST_COST ? [...setupFiles, COST] : setupFiles,
      // These limits only end what hangs: on a busy machine with two cores a test takes ten times as long as on an
      // idle one. Polling gives up earlier, to report what it saw.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 60_000 } },
      // `npm test` runs three packages at once: six files on two cores, because they wait for agents and disks for about
      // half of their time.
      maxWorkers: Math.max(2, Math.ceil(availableParallelism() / 2)),
      sequence: { sequencer: longestFirst(longest) },
      // Programs that tests start with tsx would leave its cache in the system's temporary folder.
      env: { TSX_DISABLE_CACHE: '1' },
      reporters: ['default', ['json', { outputFile: '.test-results.json' }]],
      projects: [
        // Files share processes: starting one for each takes most of a second, longer than many files need. No test
        // changes another's state: each has its own folders, servers and agents.
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

const COST = path.join(import.meta.dirname, 'test-cost.ts')
const WHOLE = ['test/**/*.test.ts']

function longestFirst(beginnings: string[]) {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const rank = ({ moduleId, project }: TestSpecification) => {
        const file = moduleId.slice(project.config.root.length + 1)
        if (beginnings.some(beginning => file.startsWith(beginning))) return 0
        // Grouped, because a process is reused only for the next file of the same project.
        return ['whole', 'alone', 'units'].indexOf(project.name) + 1
      }
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
    }
  }
}
