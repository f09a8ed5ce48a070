import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { MessagesApiHarness, type RunnerLogEntry } from '@chirality/runner'
import { startScriptedModel } from '@chirality/scripted-model'
import type { Demo } from '@chirality/server'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { breakDemoProject, makeDemoProject } from './demo-project.ts'
import { DEMO_PROMPT, demoScript } from './demo-script.ts'

export interface RunningDemo extends Demo {
  /** The Messages API, which plays a script in the demo's project and nowhere else. */
  harness(onLog: (entry: RunnerLogEntry) => void): MessagesApiHarness
  /** What the demo's session is made with. */
  session: { harness: string; model: string; title: string; permissionMode: 'default' }
  close(): Promise<void>
}

/** A project with a bug, and an agent that mends it: no account, no network, no other program. */
export async function startDemo(): Promise<RunningDemo> {
  const projectRoot = await makeDemoProject(userDataFolder())
  const model = await startScriptedModel(demoScript())
  return {
    projectRoot,
    prompt: DEMO_PROMPT,
    harness: onLog =>
      new DemoHarness(
        { projectRoot, modelUrl: model.url },
        { onLog, prices: () => ({ ...readPrices(), [MODEL]: FREE }) },
      ),
    session: {
      harness: 'messages-api',
      model: MODEL,
      title: 'Mend the failing test',
      permissionMode: 'default',
    },
    close: () => model.close(),
  }
}

const MODEL = 'demo'
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

type Config = ConstructorParameters<typeof MessagesApiHarness>[0]

interface DemoPlace {
  projectRoot: string
  /** Of the model that plays the script. */
  modelUrl: string
}

/**
 * An agent that works for real. In the demo's project a script is its model, and the fault is there whenever the demo begins, also the
 * second time; in every other project it is the Messages API with the user's own key, or the word that there is none.
 */
class DemoHarness extends MessagesApiHarness {
  readonly #place: DemoPlace

  constructor(place: DemoPlace, config: Config) {
    super(config)
    this.#place = place
  }

  override async *startTurn(
    session: Session,
    userMessage: string,
    opts?: HarnessTurnOpts,
  ): AsyncGenerator<UIEvent> {
    const { projectRoot, modelUrl } = this.#place
    if (session.projectRoot !== projectRoot) return yield* super.startTurn(session, userMessage, opts)
    if (userMessage === DEMO_PROMPT) await breakDemoProject(projectRoot)
    // The user's own token would go to the script, too.
    const env = { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: 'demo', ANTHROPIC_AUTH_TOKEN: '' }
    yield* super.startTurn(session, userMessage, { ...opts, env: { ...opts?.env, ...env } })
  }
}
