import { asNumber, asObject, asString, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../claude/ui.ts'
import { flattenParts } from './content.ts'
import { describeChanges, plainChanges, readChanges } from './file-changes.ts'
import {
  readCollaboration,
  readFunctionOutput,
  readHostCall,
  readImageGeneration,
  readImageView,
  readSleep,
  readWebSearch,
} from './other-tools.ts'
import {
  argumentsOf,
  COMMAND,
  FILE_CHANGE,
  hasFailed,
  mcpToolName,
  statusOf,
  type ToolFacts,
} from './tool-facts.ts'

/** Undefined if items of this kind are no calls. `kind` is in snake case, as `exec` writes it. */
export function readTool(
  kind: string,
  item: JsonObject,
  sessionCwd: string | undefined,
): ToolFacts | undefined {
  return READERS.get(kind)?.(item, sessionCwd)
}

type Reader = (item: JsonObject, sessionCwd: string | undefined) => ToolFacts

/** Only app-server says where a command runs; that is part of the call only where it is not the session's folder. */
function readCommand(item: JsonObject, sessionCwd: string | undefined): ToolFacts {
  const cwd = asText(item.cwd)
  const status = statusOf(item)
  const exitCode = asNumber(item.exit_code ?? item.exitCode)
  const output = asString(item.aggregated_output ?? item.aggregatedOutput) ?? ''
  const isError = hasFailed(status) || (exitCode ?? 0) !== 0
  const silence = status === 'declined' ? 'Declined: it did not run.' : `Exit code ${exitCode ?? 'unknown'}`
  return {
    name: COMMAND,
    input: present({ command: asString(item.command) ?? '', cwd: cwd === sessionCwd ? undefined : cwd }),
    content: isError && output === '' ? silence : output,
    isError,
    detail: present({ status, exitCode, cwd, durationMs: asNumber(item.durationMs) }),
  }
}

/** `exec` calls a declined change failed, so both read the same. */
function readFileChange(item: JsonObject): ToolFacts {
  const changes = readChanges(item.changes)
  const isError = hasFailed(statusOf(item))
  return {
    name: FILE_CHANGE,
    input: { changes: plainChanges(changes) },
    content: `${isError ? 'Not applied:\n' : ''}${describeChanges(changes)}`,
    isError,
    detail: changes.some(change => change.diff !== undefined) ? { changes } : undefined,
  }
}

function readMcpCall(item: JsonObject): ToolFacts {
  const result = asObject(item.result)
  const error = asText(asObject(item.error)?.message)
  const structuredContent = result?.structured_content ?? result?.structuredContent ?? undefined
  return {
    name: mcpToolName(asText(item.server) ?? 'server', asText(item.tool) ?? 'tool'),
    input: argumentsOf(item),
    content: error ?? flattenParts(result?.content),
    isError: error !== undefined || hasFailed(statusOf(item)),
    detail: structuredContent === undefined ? undefined : { structuredContent },
  }
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['command_execution', readCommand],
  ['file_change', readFileChange],
  ['mcp_tool_call', readMcpCall],
  ['collab_tool_call', readCollaboration],
  ['collab_agent_tool_call', readCollaboration],
  ['web_search', readWebSearch],
  ['dynamic_tool_call', readHostCall],
  ['function_call_output', readFunctionOutput],
  ['image_view', readImageView],
  ['image_generation', readImageGeneration],
  ['sleep', readSleep],
])
