import type { SessionHarness } from '@chirality/core'
import {
  createHarness,
  type MessagesApiHarnessConfig,
  messagesApiAgent,
  type RunnerLogEntry,
} from '@chirality/runner'
import { MESSAGES_API_META } from '@chirality/runner/messages-api'
import { startScriptedModel } from '@chirality/scripted-model'
import type { Demo } from '@chirality/server'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { breakDemoProject, makeDemoProject } from './demo-project.ts'
import { DEMO_PROMPT, demoScript } from './demo-script.ts'

export interface RunningDemo extends Demo {
  /** The Messages API harness, which uses the script as its model in the demo project and nowhere else. */
  harness(onLog: (entry: RunnerLogEntry) => void): SessionHarness
  close(): Promise<void>
}

/** A project with a bug, and an agent that fixes it: no account, no network, no other program. */
export async function startDemo(): Promise<RunningDemo> {
  const projectRoot = await makeDemoProject(userDataFolder())
  const model = await startScriptedModel(demoScript())
  return {
    projectRoot,
    prompt: DEMO_PROMPT,
    harness: onLog =>
      demoHarness(
        { projectRoot, modelUrl: model.url },
        { onLog, prices: () => ({ ...readPrices(), [MODEL]: FREE }) },
      ),
    session: {
      harness: MESSAGES_API_META.id,
      model: MODEL,
      title: 'Mend the failing test',
      permissionMode: 'default',
    },
    close: () => model.close(),
  }
}

const MODEL = 'demo'
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

interface DemoPlace {
  projectRoot: string
  /** The address of the model that plays the script. */
  modelUrl: string
}

/**
 * A real agent. In the demo project a script is its model, and the bug is restored whenever the demo begins; in every
 * other project it uses the Messages API with the user's own key, or reports that there is none.
 */
function demoHarness({ projectRoot, modelUrl }: DemoPlace, config: MessagesApiHarnessConfig): SessionHarness {
  const agent = messagesApiAgent(config)
  // Without this the user's own token would be sent to the script.
  const env = { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: 'demo', ANTHROPIC_AUTH_TOKEN: '' }
  return createHarness({
    ...agent,
    plan: turn => {
      const { query } = turn
      if (turn.session.projectRoot !== projectRoot) return agent.plan(turn)
      const plan = agent.plan({ ...turn, query: { ...query, env: { ...query.env, ...env } } })
      return {
        ...plan,
        prompt: async parts => {
          if (query.prompt === DEMO_PROMPT) await breakDemoProject(projectRoot)
          return plan.prompt(parts)
        },
      }
    },
  })
}
