import { isDeepStrictEqual } from 'node:util'
import type { CodedError, McpServerConfig } from '@chirality/core'
import { probeToolServer } from '@chirality/runner'
import { type ToolServerEntry, type ToolServerSource, TrustStore } from '@chirality/sessions'
import type { z } from 'zod'
import type { toolServerSource } from '../contract/agent-answers.ts'
import { CALLS } from '../contract/calls.ts'
import type { toolServerConfig } from '../contract/values.ts'
import { callError } from '../errors/call-error.ts'
import type { CallContext } from './context.ts'
import { liveSession } from './live-session.ts'
import { call, router } from './trpc.ts'

type ShownSource = z.infer<typeof toolServerSource>
type ShownServer = ShownSource['servers'][number]

export const toolServersRouter = router({
  /** The user's own and those of the project, in the order in which they replace each other. */
  list: call(CALLS.toolServers.list).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const { sources, isTrusted } = await sourcesOf(ctx, root)
    return sources.map((source): ShownSource => {
      const { place, file, servers, problems } = source
      const isUsed = place.kind !== 'project' || isTrusted
      return { place, file, problems, servers: servers.map(entry => shown(ctx, root, entry, isUsed)) }
    })
  }),

  save: call(CALLS.toolServers.save).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    await ctx.host.toolServers.set(root, input.place, input.name, old => withStored(input.config, old))
  }),

  remove: call(CALLS.toolServers.remove).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    await ctx.host.toolServers.set(root, input.place, input.name, () => null)
  }),

  /** For the turns of one session, until this server ends: those of an editor, which its user has allowed there. */
  lend: call(CALLS.toolServers.lend).mutation(async ({ ctx, input }) => {
    await liveSession(ctx, input.sessionId)
    const servers = Object.entries(input.servers).map(([name, config]) => [
      name,
      withStored(config, undefined),
    ])
    ctx.host.toolServers.lend(input.sessionId, Object.fromEntries(servers))
  }),

  /**
   * Runs a command, or sends headers, of what was shown: the fingerprint is of that. What a project brings needs the trust that
   * an agent needs to run it.
   */
  test: call(CALLS.toolServers.test).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    const { sources, isTrusted } = await sourcesOf(ctx, root)
    const entry = sources
      .find(({ place }) => isDeepStrictEqual(place, input.place))
      ?.servers.find(({ name }) => name === input.name)
    if (entry === undefined) throw callError('not-found', `There is no tool server ${input.name} here.`)
    if (entry.fingerprint !== input.fingerprint)
      throw callError('changed', `${input.name} has changed since it was shown. Look at it again.`)
    const untried = whyUntried(entry, input.place.kind !== 'project' || isTrusted)
    if (untried !== null) throw callError('unsafe', untried)
    const key = JSON.stringify([root, input.place, input.name])
    if (testing.has(key) || testing.size >= MAX_TESTS)
      throw callError('busy', 'A tool server is being tried already. Wait for its answer.')
    testing.add(key)
    try {
      await triedBefore(ctx).trust(root, kindOf(entry), entry.fingerprint)
      return await probeToolServer(entry.config, { cwd: root })
    } finally {
      testing.delete(key)
    }
  }),
})

const testing = new Set<string>()
const MAX_TESTS = 4

async function sourcesOf(
  { host }: CallContext,
  root: string,
): Promise<{ sources: ToolServerSource[]; isTrusted: boolean }> {
  const { files, isTrusted } = await host.trust.state(root)
  return { sources: await host.toolServers.sources(root, files), isTrusted }
}

function triedBefore({ facts }: CallContext): TrustStore {
  return new TrustStore({ home: facts.home })
}

function kindOf({ name }: ToolServerEntry): string {
  return `tool-server:${name}`
}

function shown(ctx: CallContext, root: string, entry: ToolServerEntry, isUsed: boolean): ShownServer {
  const { name, config, fingerprint } = entry
  const wasTried = triedBefore(ctx).isTrusted(root, kindOf(entry), fingerprint)
  const facts = { name, fingerprint, wasTried, untried: whyUntried(entry, isUsed) }
  if (config.type === 'http') {
    const { url, headers = {} } = config
    return { ...facts, config: { type: 'http', url: withoutPassword(url), headers: Object.keys(headers) } }
  }
  const { command, args = [], env = {}, cwd } = config
  const place = cwd === undefined ? {} : { cwd }
  return { ...facts, config: { type: 'stdio', command, args, env: Object.keys(env), ...place } }
}

function whyUntried({ config }: ToolServerEntry, isUsed: boolean): string | null {
  if (!isUsed) return 'It comes with the project, and you have not allowed the settings of the project.'
  return JSON.stringify(config).includes('${') ? 'It has variables that only the agent fills in.' : null
}

function withoutPassword(url: string): string {
  const parsed = new URL(url)
  if (parsed.username === '' && parsed.password === '') return url
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}

/** A value that is null is the one that is stored. */
function withStored(
  given: z.infer<typeof toolServerConfig>,
  old: McpServerConfig | undefined,
): McpServerConfig {
  if (given.type === 'stdio') {
    const { type, command, args } = given
    return { type, command, args, env: filled(given.env, old?.type === 'stdio' ? old.env : undefined) }
  }
  const { type, url } = given
  return { type, url, headers: filled(given.headers, old?.type === 'http' ? old.headers : undefined) }
}

function filled(
  given: Record<string, string | null>,
  stored: Record<string, string> = {},
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const known = value ?? stored[name]
      if (known === undefined) throw noValue(name)
      return [name, known]
    }),
  )
}

function noValue(name: string): CodedError {
  return callError('invalid-input', `${name} has no value yet. Give one.`)
}
