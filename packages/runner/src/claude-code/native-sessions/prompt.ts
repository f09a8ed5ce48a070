import { asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { LOCAL_COMMAND } from './conversation.ts'

export interface Prompt {
  text: string
  attachments: number
}

/** The text that the user typed, if this line is one. The agent writes many other lines with the user role. */
export function promptOf(line: JsonObject): Prompt | undefined {
  if (line.isSidechain === true || line.isMeta === true) return undefined
  if (line.type === 'system') return localCommand(line)
  if (line.type !== 'user') return undefined
  if (line.isCompactSummary === true || isWakeUp(line)) return undefined
  const { content } = asObject(line.message)
  if (typeof content === 'string') return prompt(content, 0)
  const blocks = asObjects(content)
  if (blocks.some(block => block.type === 'tool_result')) return undefined
  const attachments = blocks.filter(block => block.type === 'image' || block.type === 'document').length
  return prompt(blocks.flatMap(block => asText(block.text) ?? []).join('\n'), attachments)
}

/** A command that needs no model has a line type of its own. */
function localCommand({ subtype, content }: JsonObject): Prompt | undefined {
  const isCommand =
    subtype === LOCAL_COMMAND && typeof content === 'string' && content.includes('<command-name>')
  return isCommand ? prompt(content, 0) : undefined
}

/** `/name arguments` as it was typed; the file stores it in tags. */
function prompt(text: string, attachments: number): Prompt | undefined {
  if (NOT_TYPED.test(text) || (text.trim() === '' && attachments === 0)) return undefined
  const command = tag(text, 'command-name')
  if (command !== undefined)
    return { text: `${command} ${tag(text, 'command-args') ?? ''}`.trim(), attachments }
  const shell = tag(text, 'bash-input')
  return { text: shell === undefined ? text : `! ${shell}`, attachments }
}

const NOT_TYPED = /^\s*(\[Request interrupted by user|<(local-command|bash-std|task-notification))/

function tag(text: string, name: string): string | undefined {
  const trimmed = text.trim()
  if (!trimmed.startsWith('<command-') && !trimmed.startsWith('<bash-')) return undefined
  return new RegExp(`<${name}>([^]*?)</${name}>`).exec(trimmed)?.[1]?.trim()
}

/** A finished background task continues the conversation by itself. */
function isWakeUp(line: JsonObject): boolean {
  const kind = asText(asObject(line.origin).kind)
  return kind !== undefined && kind !== 'human'
}
