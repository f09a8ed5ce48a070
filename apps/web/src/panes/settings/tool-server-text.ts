import type { CallInputs } from '@chirality/client'
import type { ToolServer, ToolServerSource } from '../../state/server/answers.ts'

type Config = CallInputs['toolServers']['save']['config']

/** In the place of a value that is stored and not shown. */
export const STORED = '••••••'

/** Command or address of a tool server, shown before it is used. */
export function commandOf({ config }: Pick<ToolServer, 'config'>): string {
  if (config.type === 'http') return config.url
  return [config.command, ...config.args].map(quoted).join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

export function originOf({ place, file }: Pick<ToolServerSource, 'place' | 'file'>): string {
  switch (place.kind) {
    case 'user-persona':
      return `Yours, for ${place.persona}`
    case 'user-project':
      return 'Yours, for this project'
    case 'user-global':
      return 'Yours, for every project'
    case 'project':
      return `Of the project itself, in ${file}`
  }
}

export interface ServerForm {
  name: string
  type: 'stdio' | 'http'
  /** The command, or the address. */
  target: string
  /** One argument a line. */
  args: string
  /** One variable or header a line: `NAME=value`. */
  secrets: string
}

export const NEW_FORM: ServerForm = { name: '', type: 'stdio', target: '', args: '', secrets: '' }

export function formOf({ name, config }: Pick<ToolServer, 'name' | 'config'>): ServerForm {
  const names = config.type === 'stdio' ? config.env : config.headers
  const secrets = names.map(each => `${each}=${STORED}`).join('\n')
  if (config.type === 'http') return { name, type: 'http', target: config.url, args: '', secrets }
  return { name, type: 'stdio', target: config.command, args: config.args.join('\n'), secrets }
}

/** A text where the form says nothing that can be used. */
export function configOf({ type, target, args, secrets }: ServerForm): Config | string {
  const given = namedValues(secrets)
  if (typeof given === 'string') return given
  const stored = Object.entries(given).map(([name, value]) => [name, value === STORED ? null : value])
  const values = Object.fromEntries(stored) as Record<string, string | null>
  if (target.trim() === '') return type === 'stdio' ? 'Give the command.' : 'Give the address.'
  if (type === 'http') return { type, url: target.trim(), headers: values }
  return { type, command: target.trim(), args: linesOf(args), env: values }
}

/** `NAME=value` or `Name: value`, one a line; a text that says which line is neither. */
export function namedValues(text: string): Record<string, string> | string {
  const values: Record<string, string> = {}
  for (const line of linesOf(text)) {
    const at = line.search(/[=:]/)
    if (at < 1) return `"${line.slice(0, 40)}" is no NAME=value.`
    values[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return values
}

export function linesOf(text: string): string[] {
  return text.split('\n').flatMap(line => line.trim() || [])
}
