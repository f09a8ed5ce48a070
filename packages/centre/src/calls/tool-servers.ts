import { isDeepStrictEqual } from 'node:util'
import type { CodedError, McpServerConfig } from '@chirality/core'
import { probeToolServer } from '@chirality/runner'
import { type ToolServerEntry, type ToolServerSource, TrustStore } from '@chirality/sessions'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import { liveSession } from '../sessions/live-session.ts'
import { serverProbe, toolServerSource } from '../shapes/agents.ts'
import {
  byProject,
  lentToolServers,
  nothing,
  ownToolServer,
  toolServerConfig,
  triedToolServer,
} from '../shapes/values.ts'

type ShownSource = z.infer<typeof toolServerSource>
type ShownServer = ShownSource['servers'][number]

export const toolServerCalls = {
  list: query({
    about:
      'Lists the tool servers of the user and those of a project, in the order in which they replace each other.',
    input: byProject,
    output: z.array(toolServerSource),
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      const { sources, isTrusted } = await sourcesOf(centre, root)
      return sources.map((source): ShownSource => {
        const { place, file, servers, problems } = source
        const isUsed = place.kind !== 'project' || isTrusted
        return { place, file, problems, servers: servers.map(entry => shown(centre, root, entry, isUsed)) }
      })
    },
  }),

  save: mutation({
    about: 'Adds or replaces a tool server of the user. A value that is null stays as it is stored.',
    input: ownToolServer.extend({ config: toolServerConfig }),
    output: nothing,
    run: async ({ host, projects }, input) => {
      const root = await projects.require(input.project)
      await host.toolServers.set(root, input.place, input.name, old => withStored(input.config, old))
    },
  }),

  remove: mutation({
    about: 'Removes a tool server of the user.',
    input: ownToolServer,
    output: nothing,
    run: async ({ host, projects }, input) => {
      const root = await projects.require(input.project)
      await host.toolServers.set(root, input.place, input.name, () => null)
    },
  }),

  // An editor lends its own, which its user has allowed there.
  lend: mutation({
    about: 'Gives the turns of one session tool servers of the caller, until this server ends.',
    input: lentToolServers,
    output: nothing,
    where: 'here',
    run: async (centre, input) => {
      await liveSession(centre, input.sessionId)
      const servers = Object.entries(input.servers).map(([name, config]) => [
        name,
        withStored(config, undefined),
      ])
      centre.host.toolServers.lend(input.sessionId, Object.fromEntries(servers))
    },
  }),

  test: mutation({
    about:
      'Runs the command of a tool server, or sends its headers, as they were shown: the fingerprint is of that. One that a project brings needs the trust that an agent needs to run it.',
    input: triedToolServer,
    output: serverProbe,
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      const { sources, isTrusted } = await sourcesOf(centre, root)
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
        await triedBefore(centre).trust(root, kindOf(entry), entry.fingerprint)
        return await probeToolServer(entry.config, { cwd: root })
      } finally {
        testing.delete(key)
      }
    },
  }),
}

const testing = new Set<string>()
const MAX_TESTS = 4

async function sourcesOf(
  { host }: Centre,
  root: string,
): Promise<{ sources: ToolServerSource[]; isTrusted: boolean }> {
  const { files, isTrusted } = await host.trust.state(root)
  return { sources: await host.toolServers.sources(root, files), isTrusted }
}

function triedBefore({ home }: Centre): TrustStore {
  return new TrustStore({ home })
}

function kindOf({ name }: ToolServerEntry): string {
  return `tool-server:${name}`
}

function shown(centre: Centre, root: string, entry: ToolServerEntry, isUsed: boolean): ShownServer {
  const { name, config, fingerprint } = entry
  const wasTried = triedBefore(centre).isTrusted(root, kindOf(entry), fingerprint)
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
