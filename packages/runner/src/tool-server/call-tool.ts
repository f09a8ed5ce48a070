import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { PreparedTool } from './prepare-tools.ts'
import { failure, toToolResult } from './tool-result.ts'

export interface CallLimits {
  deadlineMs: number
  maxResultBytes: number
}

/** Runs one handler. Every outcome becomes a result; a late one is dropped. */
export async function callTool(
  tool: PreparedTool,
  args: Record<string, unknown>,
  { deadlineMs, maxResultBytes, signal }: CallLimits & { signal: AbortSignal },
): Promise<CallToolResult> {
  const complaint = tool.complaint(args)
  if (complaint !== undefined) {
    const where = complaint.slice(0, MAX_COMPLAINT_CHARS)
    return failure(`The input of ${tool.name} does not fit its schema: ${where}`, maxResultBytes)
  }

  const cancelled = `${tool.name} was cancelled.`
  if (signal.aborted) return failure(cancelled, maxResultBytes)
  const controller = new AbortController()
  const cancel = () => controller.abort(new Error(cancelled, { cause: signal.reason }))
  const timer = setTimeout(() => controller.abort(tooSlow(tool.name, deadlineMs)), deadlineMs)
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const context = { signal: controller.signal }
    // Listens before the handler runs, because the handler itself may cancel the call.
    const value = await Promise.race([rejectOnAbort(controller.signal), invoke(tool, args, context)])
    return toToolResult(value, tool.name, maxResultBytes)
  } catch (error) {
    return failure(describe(error), maxResultBytes)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}

/** An array gives one error per item; the first few are enough. */
const MAX_COMPLAINT_CHARS = 2_000

/** Returns a promise for handlers that throw synchronously as well. */
async function invoke(tool: PreparedTool, ...call: Parameters<PreparedTool['handler']>): Promise<unknown> {
  return tool.handler(...call)
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function tooSlow(name: string, deadlineMs: number): Error {
  const error = new Error(`${name} did not answer within ${deadlineMs / 1000} s and was told to stop.`)
  error.name = 'TimeoutError'
  return error
}

/** The thrown value can be anything, including one that cannot be converted to text. */
function describe(error: unknown): string {
  try {
    return (error instanceof Error && error.message) || String(error)
  } catch {
    return 'The tool threw something that has no message.'
  }
}
