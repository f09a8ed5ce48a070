import { createHash } from 'node:crypto'
import { type HarnessInfo, toolServerConfig } from '@chirality/centre'
import type { CallInputs } from '@chirality/server'
import { TrustStore } from '@chirality/sessions'
import { asObject } from './editor-connection.ts'

type ServerConfig = CallInputs['toolServers']['lend']['servers'][string]

interface EditorServer {
  name: string
  config: ServerConfig
  /** What is started or connected to. Values of variables and headers are secrets, and not shown. */
  shown: string
  fingerprint: string
}

/** Asks the user of the editor. Resolves with the id of the chosen option, or with nothing if the card was dismissed. */
type Ask = (card: { toolCallId: string; title: string; text: string; options: object[] }) => Promise<unknown>

/**
 * The tool servers (MCP) that an editor gives to a session. They start programs, so each is used only when the user has
 * allowed exactly this command, with these arguments and values.
 */
export class EditorServers {
  /** Those that cannot be used, and why. */
  readonly unused: { name: string; reason: string }[] = []
  readonly #usable: EditorServer[] = []
  readonly #project: string
  readonly #trust = new TrustStore({ keep: MAX_ALWAYS })
  /** What the user said in this session, by fingerprint. */
  readonly #said = new Map<string, boolean>()

  constructor(given: unknown, harness: HarnessInfo | undefined, project: string) {
    this.#project = project
    const servers: unknown[] = Array.isArray(given) ? given : []
    for (const value of servers.slice(0, MAX_SERVERS)) this.#take(value, harness)
    if (servers.length > MAX_SERVERS)
      this.unused.push({ name: `${servers.length - MAX_SERVERS} more`, reason: `at most ${MAX_SERVERS}` })
  }

  get isEmpty(): boolean {
    return this.#usable.length === 0
  }

  /** Those that the user allows. Each is asked about once. */
  async allowed(ask: Ask): Promise<Record<string, ServerConfig>> {
    const servers: Record<string, ServerConfig> = {}
    for (const server of this.#usable)
      if (await this.#isAllowed(server, ask)) servers[server.name] = server.config
    return servers
  }

  #take(value: unknown, harness: HarnessInfo | undefined): void {
    const { name: given } = asObject(value)
    // What all agents take as a name.
    const name = String(given ?? '')
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .slice(0, 64)
    const refuse = (reason: string) =>
      this.unused.push({ name: visible(String(given ?? '?')).slice(0, 80), reason })
    if (harness?.capabilities.supportsMcp === false)
      return void refuse(`${harness.name} takes no tool servers`)
    const config = configOf(value)
    if (name === '' || config === undefined) return void refuse('it has no command and no HTTP address')
    const problem = problemOf(config)
    if (problem !== undefined) return void refuse(problem)
    if (this.#usable.some(server => server.name === name)) return void refuse('another one has the same name')
    const fingerprint = createHash('sha256')
      .update(JSON.stringify([name, config]))
      .digest('hex')
    this.#usable.push({ name, config, shown: shownOf(config), fingerprint })
  }

  async #isAllowed({ name, shown, fingerprint }: EditorServer, ask: Ask): Promise<boolean> {
    const said = this.#said.get(fingerprint)
    if (said !== undefined) return said
    if (this.#trust.isTrusted(this.#project, EDITOR_SERVERS, fingerprint)) return true
    const title = `Use the tool server ${name} of this editor: ${shown}`
    const text = `The agent may use the tool server ${name}, which the editor names. This is started or connected to, with your rights:\n\n${shown}`
    const chosen = await ask({
      ...{ toolCallId: `tool-server-${name}`, title: title.slice(0, MAX_TITLE), text },
      options: [
        { optionId: 'once', name: 'Use it in this session', kind: 'allow_once' },
        { optionId: 'always', name: 'Always use exactly this one in this project', kind: 'allow_always' },
        { optionId: 'no', name: 'Do not use it', kind: 'reject_once' },
      ],
    })
    const isAllowed = chosen === 'once' || chosen === 'always'
    this.#said.set(fingerprint, isAllowed)
    if (chosen === 'always') await this.#trust.trust(this.#project, EDITOR_SERVERS, fingerprint)
    return isAllowed
  }
}

/** The kind of what the user always allows in a project, of all names, so that it can be taken back at once. */
export const EDITOR_SERVERS = 'editor-servers'

const MAX_SERVERS = 20
const MAX_ALWAYS = 200
const MAX_TITLE = 200

function configOf(value: unknown): ServerConfig | undefined {
  const { type, command, args, env, url, headers } = asObject(value)
  if (type === undefined && typeof command === 'string' && command !== '') {
    const words: unknown[] = Array.isArray(args) ? args : []
    if (!words.every(word => typeof word === 'string')) return undefined
    return { type: 'stdio', command, args: words, env: pairsOf(env) }
  }
  return type === 'http' && typeof url === 'string' && URL.canParse(url)
    ? { type: 'http', url, headers: pairsOf(headers) }
    : undefined
}

/** The server takes all of them or none, so one that it would refuse is left out here. */
function problemOf(config: ServerConfig): string | undefined {
  const [issue] = toolServerConfig.safeParse(config).error?.issues ?? []
  if (issue === undefined) return undefined
  const { message } = (issue.code === 'invalid_key' && issue.issues[0]) || issue
  return visible(`${issue.path.join(' ')}: ${message}`).slice(0, MAX_TITLE)
}

/** The protocol has lists of names and values. */
function pairsOf(value: unknown): Record<string, string> {
  const pairs: unknown[] = Array.isArray(value) ? value : []
  return Object.fromEntries(
    pairs.map(pair => {
      const { name, value: text } = asObject(pair)
      return [String(name ?? ''), String(text ?? '')]
    }),
  )
}

function shownOf(config: ServerConfig): string {
  const [what, names, label] =
    config.type === 'stdio'
      ? ([
          [config.command, ...config.args].map(quoted).join(' '),
          Object.keys(config.env),
          'variables',
        ] as const)
      : ([config.url, Object.keys(config.headers), 'headers'] as const)
  return visible(names.length === 0 ? what : `${what} (${label}: ${names.join(', ')})`)
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)
}

/** Text that could show something else than what it is, such as one that changes the direction of writing. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
