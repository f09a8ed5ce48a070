import { type BuiltInTool, numberOf, objectSchema, textOf } from '../built-in-tool.ts'
import type { CommandResult, Shell } from './shell.ts'

export type ToolProgress = (progress: {
  toolUseId: string
  toolName: string
  output: string
  elapsedMs: number
}) => void

export function bashTool(shell: Shell, onProgress?: ToolProgress): BuiltInTool {
  return {
    name: 'bash',
    effect: 'run',
    description: `Runs a shell command in the project folder and waits for it. What it leaves in the background is ended with your turn. Default time limit ${DEFAULT_TIMEOUT_MS / 1000} s. Of long output the middle is left out.`,
    inputSchema: objectSchema(
      {
        command: { type: 'string', minLength: 1 },
        timeout: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS, description: 'Milliseconds' },
        description: { type: 'string', description: 'What it does, in a few words' },
      },
      ['command'],
    ),
    subject: input => textOf(input.command),
    async execute(input, { signal, toolUseId }) {
      const command = String(input.command)
      if (command.includes('\0')) return { content: 'The command has a NUL character in it.', isError: true }
      const timeoutMs = numberOf(input.timeout) ?? DEFAULT_TIMEOUT_MS
      const result = await shell.run(command, {
        timeoutMs,
        signal,
        onOutput: (output, elapsedMs) => onProgress?.({ toolUseId, toolName: 'bash', output, elapsedMs }),
      })
      return { content: describe(result, timeoutMs), isError: hasFailed(result), detail: result }
    },
  }
}

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

function hasFailed({ exitCode, timedOut, interrupted }: CommandResult): boolean {
  return timedOut || interrupted || exitCode !== 0
}

function describe(result: CommandResult, timeoutMs: number): string {
  const { stdout, stderr, timedOut, interrupted, exitCode, exitSignal } = result
  const end = timedOut
    ? `Ended after ${timeoutMs} ms, its time limit.`
    : interrupted
      ? 'Interrupted by the user.'
      : exitSignal !== null
        ? `Ended by ${exitSignal}.`
        : exitCode === 0
          ? ''
          : `Exit code ${exitCode}.`
  const parts = [stdout, stderr, end].map(part => part.replace(/\n$/, '')).filter(part => part !== '')
  return parts.join('\n') || 'Done, without output.'
}
