import type { Script, ScriptAnswer } from '@chirality/scripted-model'
import { BROKEN_LINE, FIXED_LINE } from './demo-project.ts'

export const DEMO_PROMPT = 'The test fails. Find out why and mend it.'

/**
 * The model's answers in the demo. The agent, its tools, the files and the test run are real, so each answer depends on
 * the last result: any number of sessions can run, and the user may deny any call.
 */
export function demoScript(): Script {
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
