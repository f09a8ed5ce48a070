import { fileURLToPath } from 'node:url'
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'

/** An item of a file in the words of the app-server, which has other names for the same fields. */
export function rolloutItem(payload: JsonObject): JsonObject {
  const item = asObject(payload.item)
  const name = asText(item.type) ?? ''
  const base = {
    ...item,
    type: name.charAt(0).toLowerCase() + name.slice(1),
    startedAtMs: payload.started_at_ms,
    completedAtMs: payload.completed_at_ms,
  }
  switch (name) {
    case 'AgentMessage':
      return {
        ...base,
        text: asObjects(item.content)
          .flatMap(part => asText(part.text) ?? [])
          .join(''),
      }
    case 'Reasoning':
      return { ...base, summary: item.summary_text, content: item.raw_content }
    case 'CommandExecution':
      return {
        ...base,
        command: commandLine(item.command),
        cwd: plainPath(item.cwd),
        durationMs: duration(item),
      }
    case 'FileChange':
      return { ...base, changes: Object.entries(asObject(item.changes)).map(fileChange) }
    default:
      return base
  }
}

function fileChange([path, value]: [string, unknown]): JsonObject {
  const change = asObject(value)
  return {
    path,
    kind: { type: change.type, ...('move_path' in change ? { move_path: change.move_path } : {}) },
    diff: change.unified_diff ?? change.content,
  }
}

/** As one would type it. */
function commandLine(command: unknown): unknown {
  if (!Array.isArray(command)) return command
  return command.map(word => quoted(String(word))).join(' ')
}

function quoted(word: string): string {
  if (/^[\w./:=@%+,-]+$/.test(word)) return word
  return word.includes("'") ? `"${word.replace(/["$`\\]/g, '\\$&')}"` : `'${word}'`
}

function plainPath(value: unknown): unknown {
  const text = asText(value)
  if (!text?.startsWith('file://')) return value
  try {
    return fileURLToPath(text)
  } catch {
    return value
  }
}

function duration(item: JsonObject): number | undefined {
  const { secs, nanos } = asObject(item.duration)
  const seconds = asNumber(secs)
  return seconds === undefined ? undefined : Math.floor(seconds * 1000 + (asNumber(nanos) ?? 0) / 1e6)
}
