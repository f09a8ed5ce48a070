import type { HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { MessagesApiHarness } from '@chirality/runner'
import { breakDemoProject } from './demo-project.ts'
import { DEMO_PROMPT } from './demo-script.ts'

type Config = ConstructorParameters<typeof MessagesApiHarness>[0]

/** An agent that works for real, on a project that has its fault whenever the demo begins: also the second time. */
export class DemoHarness extends MessagesApiHarness {
  readonly #projectRoot: string

  constructor(projectRoot: string, config: Config) {
    super(config)
    this.#projectRoot = projectRoot
  }

  override async *startTurn(
    session: Session,
    userMessage: string,
    opts?: HarnessTurnOpts,
  ): AsyncGenerator<UIEvent> {
    if (session.projectRoot === this.#projectRoot && userMessage === DEMO_PROMPT)
      await breakDemoProject(this.#projectRoot)
    yield* super.startTurn(session, userMessage, opts)
  }
}
