import type { Demo } from '@chirality/centre'
import type { SessionHarness } from '@chirality/core'
import {
  createHarness,
  type MessagesApiHarnessConfig,
  messagesApiAgent,
  type RunnerLogEntry,
} from '@chirality/runner'
import { MESSAGES_API_META } from '@chirality/runner/messages-api'
import { type Script, type ScriptAnswer, startScriptedModel } from '@chirality/scripted-model'
import { readPrices, userDataFolder } from '@chirality/sessions'
import { BROKEN_LINE, breakDemoProject, FIXED_LINE, makeDemoProject } from './demo-project.ts'

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

const DEMO_PROMPT = 'The test fails. Find out why and mend it.'

/**
 * The model's answers in the demo. The agent, its tools, the files and the test run are real, so each answer depends on
 * the last result: any number of sessions can run, and the user may deny any call.
 */
function demoScript(): Script {
  return {
    defaults: { chunkChars: 6, chunkDelayMs: 25, usage: { input: 900, output: 60 } },
    routes: [
      when('fail 0', 'Mended: `greet` has its comma and its exclamation mark now, and the test passes.'),
      when('fail 1', {
        blocks: [
          { text: 'The comma and the exclamation mark are missing. I look at the code.' },
          { tool: 'read', input: { file_path: 'greet.js' } },
        ],
      }),
      when(BROKEN_LINE.trim(), {
        blocks: [
          { text: 'One line to change.' },
          {
            tool: 'edit',
            input: { file_path: 'greet.js', old_string: BROKEN_LINE, new_string: FIXED_LINE },
          },
        ],
      }),
      when('Changed one place in', {
        blocks: [
          { text: 'And the test once more.' },
          { tool: 'bash', input: { command: TEST, description: 'Run the test again' } },
        ],
      }),
      {
        when: { toolResultMatches: '.' },
        answers: [],
        otherwise: 'All right, I leave it at that. Send the message again to start over.',
      },
      {
        when: { lastUserMatches: '[Ww]hat did you|[Ww]hat has|[Ee]xplain|[Ss]how me' },
        answers: [],
        otherwise: CHANGED,
      },
    ],
    otherwise: {
      blocks: [
        { thinking: 'Run the test first, so that I see what fails.' },
        { text: 'I run the test to see what is wrong.' },
        { tool: 'bash', input: { command: TEST, description: 'Run the test' } },
      ],
    },
  }
}

const TEST = 'node --test'

const CHANGED = `One line in \`greet.js\`:

\`\`\`diff
-${BROKEN_LINE}
+${FIXED_LINE}
\`\`\`

This is the demo, with a model that plays a script. Add a project of your own to work with a real one.`

/** Matches every time the tool's result contains it. */
function when(toolResultContains: string, otherwise: ScriptAnswer) {
  return { when: { toolResultContains }, answers: [], otherwise }
}
