import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { CodedError, type McpServerConfig, type ProjectFile } from '@chirality/core'
import { type FileOps, realFileOps, withStorageErrors } from '@chirality/disk'
import { PersonaManager } from '@chirality/personas'
import { changeOwnFile, readOwnFile, writeOwnFile } from '../files/own-file.ts'
import { realPath } from '../files/real-path.ts'
import { userDataFolder } from '../files/user-data-folder.ts'

/** Where a tool server is kept: in the user's data folder, or in the project's own `.mcp.json`. */
export type ToolServerPlace =
  | { kind: 'user-global' }
  | { kind: 'user-project' }
  | { kind: 'user-persona'; persona: string }
  | { kind: 'project' }

export interface ToolServerEntry {
  name: string
  config: McpServerConfig
  /** Of all that is started or connected to: what was shown is what is tried. */
  fingerprint: string
}

export interface ToolServerSource {
  place: ToolServerPlace
  file: string
  servers: ToolServerEntry[]
  /** Entries that are not used, and why. */
  problems: string[]
}

export type OwnPlace = Exclude<ToolServerPlace, { kind: 'project' }>

/**
 * The tool servers (MCP) that the user gave to agents, as files of the user's data folder that only the user can read:
 * `tool-servers/global.json`, `<project>.json` and `<project>.<persona>.json`, each with `mcpServers` as in `.mcp.json`.
 */
export class ToolServerBook {
  readonly #home: string
  readonly #ops: FileOps
  readonly #personas: PersonaManager
  readonly #lent = new Map<string, Record<string, McpServerConfig>>()

  constructor(options: { home?: string; ops?: FileOps; personas?: PersonaManager } = {}) {
    this.#home = options.home ?? userDataFolder()
    this.#ops = options.ops ?? realFileOps
    this.#personas = options.personas ?? new PersonaManager()
  }

  /** The user's own, and those of `.mcp.json`, as `ProjectTrust` read it. */
  async sources(projectRoot: string, projectFiles: readonly ProjectFile[]): Promise<ToolServerSource[]> {
    const root = realPath(projectRoot)
    const personas = (await this.#personas.list(root)).map(({ id }) => id)
    const own: OwnPlace[] = [
      ...personas.map(persona => ({ kind: 'user-persona' as const, persona })),
      { kind: 'user-project' },
      { kind: 'user-global' },
    ]
    const shipped = projectFiles.find(({ path }) => path === PROJECT_FILE)
    return [
      ...own.map(place => this.#source(root, place)),
      ...(shipped === undefined ? [] : [parseSource({ kind: 'project' }, PROJECT_FILE, textOf(shipped))]),
    ]
  }

  /** Servers of the program that uses the session, such as an editor. They are not stored, and hold until this process ends. */
  lend(sessionId: string, servers: Record<string, McpServerConfig>): void {
    if (Object.keys(servers).length === 0) this.#lent.delete(sessionId)
    else this.#lent.set(sessionId, servers)
  }

  /** Those of a turn: a persona's over the project's, those over the ones for all projects, and those over lent ones. */
  forTurn(projectRoot: string, persona: string | null, sessionId?: string): Record<string, McpServerConfig> {
    const root = realPath(projectRoot)
    const places: OwnPlace[] = [
      { kind: 'user-global' },
      { kind: 'user-project' },
      ...(persona === null ? [] : [{ kind: 'user-persona' as const, persona }]),
    ]
    const entries = places.flatMap(place => this.#source(root, place).servers)
    const lent = sessionId === undefined ? {} : this.#lent.get(sessionId)
    return { ...lent, ...Object.fromEntries(entries.map(({ name, config }) => [name, config])) }
  }

  /** Replaces a server, or adds it; `change` is given the one that is there. Null removes it. */
  async set(
    projectRoot: string,
    place: OwnPlace,
    name: string,
    change: (old: McpServerConfig | undefined) => McpServerConfig | null,
  ): Promise<void> {
    const root = realPath(projectRoot)
    const file = this.#file(root, place)
    const own = { home: this.#home, path: file, ops: this.#ops }
    const replace = async () => {
      const { servers, problems } = this.#source(root, place)
      // What cannot be read would be lost.
      if (problems.length > 0)
        throw new CodedError('unsafe', `${file}: ${problems[0]} Mend the file, or remove it.`)
      const config = change(servers.find(entry => entry.name === name)?.config)
      const others = servers.filter(entry => entry.name !== name)
      const all = [...others, ...(config === null ? [] : [{ name, config }])]
      if (all.length > MAX_SERVERS)
        throw new CodedError('invalid_query', `There are ${MAX_SERVERS} servers here already. Remove one.`)
      const mcpServers = Object.fromEntries(all.map(entry => [entry.name, entry.config]))
      await withStorageErrors(file, () => writeOwnFile(own, `${JSON.stringify({ mcpServers }, null, 2)}\n`))
    }
    await changeOwnFile(own, replace)
  }

  #file(root: string, place: OwnPlace): string {
    const hash = createHash('sha256').update(root).digest('hex').slice(0, 32)
    const name =
      place.kind === 'user-global'
        ? 'global'
        : place.kind === 'user-project'
          ? hash
          : `${hash}.${place.persona}`
    return join(this.#home, 'tool-servers', `${name}.json`)
  }

  #source(root: string, place: OwnPlace): ToolServerSource {
    const file = this.#file(root, place)
    const own = { home: this.#home, root, path: file, ops: this.#ops }
    const read = readOwnFile(own, MAX_BYTES)
    if (read !== undefined && 'text' in read) return parseSource(place, file, read.text)
    return { place, file, servers: [], problems: read === undefined ? [] : [read.problem] }
  }
}

const PROJECT_FILE = '.mcp.json'
const MAX_BYTES = 256 * 1024
const MAX_SERVERS = 50
/** What all agents take as a name. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/

function textOf({ content }: ProjectFile): string {
  return new TextDecoder().decode(content)
}

function parseSource(place: ToolServerPlace, file: string, text: string): ToolServerSource {
  const source: ToolServerSource = { place, file, servers: [], problems: [] }
  const servers = objectOf(objectOf(parseJson(text))?.mcpServers)
  if (servers === undefined) {
    source.problems.push('It is no JSON object with "mcpServers".')
    return source
  }
  for (const [name, value] of Object.entries(servers).slice(0, MAX_SERVERS)) {
    const config = parseConfig(value)
    if (!NAME.test(name) || config === undefined)
      source.problems.push(`${JSON.stringify(name.slice(0, 64))} is no server that agents here can use.`)
    else source.servers.push({ name, config, fingerprint: fingerprintOf(place, name, config) })
  }
  return source
}

function fingerprintOf(place: ToolServerPlace, name: string, config: McpServerConfig): string {
  return createHash('sha256')
    .update(JSON.stringify([place, name, config]))
    .digest('hex')
}

/** `type` may be missing, as in the files of other programs. */
function parseConfig(value: unknown): McpServerConfig | undefined {
  const { type, command, args, env, cwd, url, headers } = objectOf(value) ?? {}
  if (typeof command === 'string' && command !== '' && (type === undefined || type === 'stdio')) {
    const isGood = isTexts(args) && isTextMap(env) && (cwd === undefined || typeof cwd === 'string')
    return isGood ? { type: 'stdio', command, ...present({ args, env, cwd }) } : undefined
  }
  if (typeof url === 'string' && URL.canParse(url) && (type === undefined || type === 'http'))
    return isTextMap(headers) ? { type: 'http', url, ...present({ headers }) } : undefined
  return undefined
}

function present<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}

function isTexts(value: unknown): value is string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every(each => typeof each === 'string'))
}

function isTextMap(value: unknown): value is Record<string, string> | undefined {
  const map = objectOf(value)
  return (
    value === undefined || (map !== undefined && Object.values(map).every(each => typeof each === 'string'))
  )
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
