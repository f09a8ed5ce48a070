import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { COMPACT_BOUNDARY } from './conversation.ts'

/** A line of the file as the stream would have printed it. Undefined for a line that only the agent uses. */
export function nativeEvent(line: JsonObject): JsonObject | undefined {
  if (line.isMeta === true || line.isCompactSummary === true) return undefined
  const output = localOutput(line)
  if (output !== undefined) return { type: 'system', subtype: LOCAL_OUTPUT, uuid: line.uuid, content: output }
  if (isFiller(line)) return undefined
  if (line.type === 'assistant') {
    return { ...line, is_api_error_message: line.isApiErrorMessage, api_error_status: line.apiErrorStatus }
  }
  if (line.type === 'user') return { ...line, tool_use_result: line.toolUseResult }
  if (line.type === 'system' && line.subtype === COMPACT_BOUNDARY) return { ...line }
  const { type, prompt, commandMode = 'prompt' } = asObject(line.attachment)
  // Queued while a turn ran, so it has no user line of its own.
  if (type === 'queued_command' && commandMode === 'prompt')
    return { type: 'user', message: { content: prompt } }
  return undefined
}

export const LOCAL_OUTPUT = 'local_command_output'

/** The output of a command that the agent ran itself, without a model. */
function localOutput(line: JsonObject): string | undefined {
  const text = asText(line.type === 'system' ? line.content : asObject(line.message).content)
  const tagged = /^\s*<(local-command|bash)-std(?:out|err)>/.test(text ?? '')
  return tagged ? text?.replace(/<\/?(local-command|bash)-std(out|err)>/g, '').trim() : undefined
}

/** A placeholder for the model's answer to a local command, which the API requires. */
function isFiller(line: JsonObject): boolean {
  const { model, content } = asObject(line.message)
  const [block, ...more] = asObjects(content)
  return model === '<synthetic>' && more.length === 0 && block?.text === 'No response requested.'
}
