import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { MessagesApiHarness } from '@chirality/runner'
import { breakDemoProject } from './demo-project.ts'
import { DEMO_PROMPT } from './demo-script.ts'

type Config = ConstructorParameters<typeof MessagesApiHarness>[0]

export interface DemoPlace {
  projectRoot: string
  /** Of the model that plays the script. */
  modelUrl: string
}

/**
 * An agent that works for real. In the demo's project a script is its model, and the fault is there whenever the demo begins, also the
 * second time; in every other project it is the Messages API with the user's own key, or the word that there is none.
 */
export class DemoHarness extends MessagesApiHarness {
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
