import type { FileEdit, ToolFacts, ToolKind } from '../../events/tool-facts.ts'
import { asArray, asObject, asString, asText, type JsonObject } from '../../native/loose.ts'
import { present } from '../shared.ts'
import { toolFacts } from '../tool-facts.ts'

/** A tool call as its messages have described it so far: each message replaces the fields that it has. */
export interface AcpToolCall {
  id: string
  title: string
  kind: string
  /** The agent's own name of the tool, where it gives one. */
  name?: string
  rawInput: JsonObject
  content: unknown[]
  locations: string[]
  rawOutput?: unknown
  /** What terminals of the agent itself printed. */
  output: string
  status: string
}

export function newToolCall(id: string): AcpToolCall {
  return {
    id,
    title: '',
    kind: 'other',
    rawInput: {},
    content: [],
    locations: [],
    output: '',
    status: 'pending',
  }
}

/** Takes over what a `tool_call`, a `tool_call_update` or the call of a permission request says. */
export function updateToolCall(call: AcpToolCall, update: JsonObject): void {
  call.title = asText(update.title) ?? call.title
  call.kind = asText(update.kind) ?? call.kind
  call.status = asText(update.status) ?? call.status
  const meta = asObject(update._meta)
  call.name = asText(asObject(meta?.claudeCode)?.toolName) ?? asText(update.name) ?? call.name
  const input = asObject(update.rawInput)
  if (input && (Object.keys(input).length > 0 || Object.keys(call.rawInput).length === 0))
    call.rawInput = input
  if (Array.isArray(update.content)) call.content = update.content
  if (Array.isArray(update.locations))
    call.locations = update.locations.flatMap(place => asText(asObject(place)?.path) ?? [])
  if (update.rawOutput !== undefined) call.rawOutput = update.rawOutput
  call.output += asString(asObject(meta?.terminal_output)?.data) ?? ''
}

/** The call in the terms of the rules: the shared name of its tool, and the argument that counts under its shared key. */
export function canonicalCall(call: AcpToolCall): { name: string; input: JsonObject; facts: ToolFacts } {
  const edits = editsOf(call)
  const { name, input } = named(call, edits)
  const facts = toolFacts(name, input)
  const kind = KINDS[call.kind] ?? facts.kind
  return {
    name,
    input,
    facts: present({
      ...facts,
      kind: facts.kind === 'other' ? kind : facts.kind,
      label: facts.kind === 'other' ? (LABELS[kind] ?? facts.label) : facts.label,
      object: facts.object || call.locations.join(', ') || call.title,
      edits: edits.length > 0 ? edits : facts.edits,
    }),
  }
}

/** The text of a finished call. */
export function resultText(call: AcpToolCall): string {
  const texts = call.content.flatMap(part => {
    const { type, content } = asObject(part) ?? {}
    return type === 'content' ? (contentText(content) ?? []) : []
  })
  const said = call.output || texts.join('\n') || outputText(call.rawOutput)
  return FENCED.exec(said)?.[1] ?? said
}

/** Text of a content block; a note for one that is no text. */
export function contentText(value: unknown): string | undefined {
  const block = asObject(value)
  if (!block) return undefined
  const resource = asObject(block.resource)
  switch (block.type) {
    case 'text':
      return asString(block.text)
    case 'resource_link':
      return asText(block.uri)
    case 'resource':
      return asString(resource?.text) ?? asText(resource?.uri)
    default:
      return asText(block.type) && `[${String(block.type)}]`
  }
}

/** Some agents put a whole output between fences. */
const FENCED = /^```[a-z]*\n([\s\S]*?)\n?```\s*$/

function outputText(raw: unknown): string {
  if (typeof raw === 'string') return raw
  const output = asObject(raw)
  if (!output) return raw === undefined || raw === null ? '' : JSON.stringify(raw)
  const told = ['output', 'formatted_output', 'aggregated_output', 'stdout', 'content', 'error']
  for (const key of told) if (asText(output[key]) !== undefined) return String(output[key])
  return JSON.stringify(output)
}

function named(call: AcpToolCall, edits: FileEdit[]): { name: string; input: JsonObject } {
  const { rawInput, locations } = call
  const own = call.name
  // Names of tools that rules know have the arguments that rules expect.
  if (own !== undefined && (own.startsWith('mcp__') || toolFacts(own, rawInput).kind !== 'other'))
    return { name: own, input: rawInput }
  switch (call.kind) {
    case 'execute': {
      const command = commandOf(rawInput)
      return { name: 'Bash', input: command === undefined ? rawInput : { ...rawInput, command } }
    }
    case 'edit':
    case 'delete':
    case 'move': {
      const paths = [...new Set([...edits.map(({ path }) => path), ...locations, ...pathsIn(rawInput)])]
      const [path] = paths
      if (path !== undefined && paths.length === 1)
        return { name: 'Edit', input: { ...rawInput, file_path: path } }
      const kind = call.kind === 'delete' ? 'delete' : 'update'
      return {
        name: 'file_change',
        input: { ...rawInput, changes: paths.map(place => ({ path: place, kind })) },
      }
    }
    case 'read': {
      const [path] = [...pathsIn(rawInput), ...locations]
      return { name: 'Read', input: path === undefined ? rawInput : { ...rawInput, file_path: path } }
    }
    case 'fetch':
      return { name: asText(rawInput.url) ? 'WebFetch' : (own ?? call.title), input: rawInput }
    default:
      return { name: own ?? (call.title || 'tool'), input: rawInput }
  }
}

/** As one line for a shell. */
function commandOf({ command, cmd }: JsonObject): string | undefined {
  const given = command ?? cmd
  if (!Array.isArray(given)) return asText(given)
  return given
    .map(part => (/^[\w@%+=:,./-]+$/.test(String(part)) ? String(part) : quoted(String(part))))
    .join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function pathsIn(input: JsonObject): string[] {
  const found = [input.file_path, input.filePath, input.path, input.absolute_path, input.abs_path]
  return found.flatMap(path => asText(path) ?? []).slice(0, 1)
}

function editsOf({ content }: AcpToolCall): FileEdit[] {
  return content.flatMap((part): FileEdit[] => {
    const { type, path, oldText, newText } = asObject(part) ?? {}
    const file = asText(path)
    if (type !== 'diff' || file === undefined) return []
    const after = asString(newText) ?? ''
    const before = asString(oldText)
    if (before === undefined) return [{ path: file, change: 'add', text: after }]
    return [{ path: file, change: 'update', swaps: [{ before, after }] }]
  })
}

const KINDS: Record<string, ToolKind> = {
  read: 'read',
  edit: 'edit',
  delete: 'edit',
  move: 'edit',
  search: 'search',
  execute: 'execute',
  think: 'think',
  fetch: 'fetch',
  switch_mode: 'think',
}

const LABELS: Partial<Record<ToolKind, string>> = {
  read: 'Read',
  edit: 'Edit',
  search: 'Search',
  execute: 'Command',
  think: 'Think',
  fetch: 'Fetch',
}

/** The plan of an agent, in the shape that every agent's plan is read from. */
export function planEntries(update: JsonObject): { content: string; status: string }[] {
  return asArray(update.entries).flatMap(entry => {
    const { content, status } = asObject(entry) ?? {}
    const text = asText(content)
    return text === undefined ? [] : [{ content: text, status: asText(status) ?? 'pending' }]
  })
}

/** The names of the options, where they are more than one yes and one no of each kind: a person has to choose. */
export function choices({ options }: JsonObject): string[] | undefined {
  const given = asArray(options).map(option => asObject(option) ?? {})
  const kinds = given.map(({ kind }) => String(kind))
  const isPlain = new Set(kinds).size === kinds.length && kinds.every(kind => OPTION_KINDS.has(kind))
  return isPlain ? undefined : given.map(({ name, optionId }) => asText(name) ?? String(optionId))
}

const OPTION_KINDS: ReadonlySet<string> = new Set([
  'allow_once',
  'allow_always',
  'reject_once',
  'reject_always',
])

/** The slash commands that an agent offers. */
export function commandsOf(update: JsonObject): AcpCommand[] {
  return asArray(update.availableCommands).flatMap(command => {
    const { name, description, input } = asObject(command) ?? {}
    const hint = asText(asObject(input)?.hint)
    if (!asText(name)) return []
    return [{ name: String(name), description: asString(description) ?? '', ...(hint ? { hint } : {}) }]
  })
}

/** A slash command of the agent; `hint` is what to write after its name. */
export interface AcpCommand {
  name: string
  description: string
  hint?: string
}

/** The words of a notice. */
export function noticeText({ message, text, content }: JsonObject): string {
  return asText(message) ?? asText(text) ?? contentText(content) ?? 'The agent sent a notice.'
}
