import path from 'node:path'
import type { Script } from '@chirality/scripted-model'
import { BROKEN_LINE, FIXED_LINE } from './demo-project.ts'

/** What the model says in the demo. The agent, its tools, the files and the test run are real. */
export function demoScript(folder: string): Script {
  const file = path.join(folder, 'greet.js')
  return {
    defaults: { chunkChars: 6, chunkDelayMs: 25 },
    answers: [
      {
        blocks: [
          { thinking: 'Run the test first, so that I see what fails.' },
          { text: 'I run the test to see what is wrong.' },
          { tool: 'Bash', input: { command: TEST, description: 'Run the test' } },
        ],
      },
      {
        blocks: [
          { text: 'The comma and the exclamation mark are missing. I look at the code.' },
          { tool: 'Read', input: { file_path: file } },
        ],
      },
      {
        blocks: [
          { text: 'One line to change.' },
          { tool: 'Edit', input: { file_path: file, old_string: BROKEN_LINE, new_string: FIXED_LINE } },
        ],
      },
      {
        blocks: [
          { text: 'And the test once more.' },
          { tool: 'Bash', input: { command: TEST, description: 'Run the test again' } },
        ],
      },
      'Fixed: `greet` now adds both, and the test passes.',
      'I changed one line in greet.js: the greeting has its comma and its exclamation mark now.',
    ],
  }
}

export const TEST = 'node --test'
