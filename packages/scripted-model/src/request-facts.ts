/** What routes look at, the same for both APIs. */
export interface RequestFacts {
  api: 'messages' | 'responses'
  model: string
  stream: boolean
  system: string
  firstUser: string
  /** The last user message that is not a tool result. */
  lastUser: string
  /** The tool results since the last answer. */
  toolResults: string
  tools: string[]
  messageCount: number
  subAgent: boolean
}

export function messagesFacts(body: unknown): RequestFacts {
  const request = asObject(body)
  const messages = asArray(request.messages).map(asObject)
  const users = messages.filter(({ role }) => role === 'user').map(({ content }) => partsOf(content))
  const typed = users.filter(parts => !parts.some(isToolResult))
  const last = users.at(-1) ?? []
  return {
    api: 'messages',
    model: asString(request.model),
    stream: request.stream === true,
    system: textOf(partsOf(request.system)),
    firstUser: textOf(users[0] ?? []),
    lastUser: textOf(typed.at(-1) ?? []),
    toolResults: last
      .filter(isToolResult)
      .map(({ content }) => textOf(partsOf(content)))
      .join('\n'),
    tools: toolNames(request.tools),
    messageCount: messages.length,
    subAgent: false,
  }
}

type Json = Record<string, unknown>

/** Text of any nesting becomes a list of typed parts. */
function partsOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content).map(asObject)
}

function textOf(parts: Json[]): string {
  return parts.map(({ text }) => asString(text)).join('\n')
}

function isToolResult({ type }: Json): boolean {
  return type === 'tool_result'
}

function toolNames(tools: unknown): string[] {
  return asArray(tools).map(tool => asString(asObject(tool).name))
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
