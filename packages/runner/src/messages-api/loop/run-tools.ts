import type { Answer } from '../api/answer.ts'
import type { ToolResultBlock, ToolUseBlock } from '../api/messages.ts'
import type { Tool, ToolOutput } from './tool.ts'

/** What decides which calls of an answer run. */
export type CalledTools = Pick<Answer, 'content' | 'stopReason' | 'badInputs'>

export interface RunToolsOptions {
  tools: readonly Tool[]
  signal: AbortSignal
  /** How long a tool may continue after the signal. */
  graceMs: number
  /** A person has to be asked, whatever is allowed by now. */
  mustAsk?: boolean
  onResult(result: ToolResultBlock, detail: unknown): void
}

/**
 * Runs the calls of an answer in sequence and stops at the first failure, so that the model can reconsider. The API
 * requires a result for each call, so the remaining calls get one that says that they did not run. Never rejects.
 */
export async function runTools(answer: CalledTools, options: RunToolsOptions): Promise<ToolResultBlock[]> {
  const results: ToolResultBlock[] = []
  const tell = (call: ToolUseBlock, { content, isError = false, isDenied = false, detail }: ToolOutput) => {
    const result: ToolResultBlock = {
      type: 'tool_result',
      tool_use_id: call.id,
      // The API refuses an error result without text.
      content: content === '' && isError ? 'The tool failed and did not say why.' : content,
      ...(isError ? { is_error: true } : {}),
    }
    results.push(result)
    options.onResult(result, detail)
    return isError && !isDenied
  }
  let reason = answer.stopReason === 'tool_use' ? undefined : notRunReason(answer)
  for (const call of callsOf(answer)) {
    if (options.signal.aborted) reason = INTERRUPTED
    if (reason !== undefined) tell(call, { content: reason, isError: true })
    else if (tell(call, await runTool(call, answer, options))) {
      reason = options.signal.aborted ? INTERRUPTED : `Not executed because ${call.name} (${call.id}) failed.`
    }
  }
  return results
}

const INTERRUPTED = 'Not executed: the user interrupted the turn.'

export function callsOf({ content }: Pick<Answer, 'content'>): ToolUseBlock[] {
  return content.filter(block => block.type === 'tool_use')
}

/** A call that was cut off can look complete. */
function notRunReason({ stopReason }: CalledTools): string | undefined {
  if (stopReason === 'max_tokens')
    return 'Not executed: the answer was cut off at the limit of its tokens. Use shorter inputs.'
  if (stopReason === 'model_context_window_exceeded') return 'Not executed: the context window is full.'
  return stopReason === 'refusal' ? 'Not executed: the answer was refused.' : undefined
}

async function runTool(
  call: ToolUseBlock,
  answer: CalledTools,
  options: RunToolsOptions,
): Promise<ToolOutput> {
  const fault = answer.badInputs.get(call.id)
  if (fault !== undefined) {
    return { content: `The input of ${call.name} is no JSON object: ${fault}`, isError: true }
  }
  const tool = options.tools.find(({ name }) => name === call.name)
  if (tool === undefined) {
    const known = options.tools.map(({ name }) => name).join(', ') || 'none'
    return { content: `There is no tool ${call.name}. There are: ${known}.`, isError: true }
  }
  try {
    const { signal, graceMs } = options
    const { mustAsk = false } = options
    const running = tool.execute(structuredClone(call.input), { signal, toolUseId: call.id, mustAsk })
    const output = await withinGrace(running, signal, graceMs)
    return typeof output === 'string' ? { content: output } : output
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error), isError: true }
  }
}

/** A tool that ignores its signal would keep the prompt from ending, so it is abandoned after the grace period. */
async function withinGrace<T>(running: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = () => {}
  const given = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(new Error(ABANDONED)), graceMs)
    }
  })
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([running, given])
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}

const ABANDONED = 'Interrupted. The tool did not stop when it was told to; it may still be running.'
