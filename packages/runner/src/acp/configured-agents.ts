import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { HarnessError } from '@chirality/core'
import { changeFile, readTextCarefully, writeFileAtomic } from '@chirality/disk'
import { asObject } from '../common/json.ts'
import type { HarnessDescriptor } from '../harness-descriptor.ts'
import { resolveExecutable } from '../process/program/resolve-executable.ts'
import { type AcpAgentSpec, acpDescriptor, KNOWN_AGENTS } from './agent-spec.ts'

/** The agents of the user's own list, and the known ones whose program is found. One of the list wins over a known one. */
export async function acpHarnesses({
  dataFolder,
  environment,
}: {
  dataFolder: string
  environment: Readonly<Record<string, string | undefined>>
}): Promise<HarnessDescriptor[]> {
  const { agents } = await readConfiguredAgents(dataFolder)
  const { PATH = '', HOME: home } = environment
  const others = KNOWN_AGENTS.filter(({ name }) => !agents.some(agent => agent.name === name))
  const found = await Promise.all(
    others.map(async spec => {
      const where = { path: PATH, ...(home === undefined ? {} : { home }) }
      return (await resolveExecutable(spec.command, [], where)) === undefined ? [] : [spec]
    }),
  )
  return [...agents, ...found.flat()].map(acpDescriptor)
}

export interface ConfiguredAgents {
  agents: AcpAgentSpec[]
  /** What is wrong with the file, or with entries of it, which are left out. */
  problems: string[]
}

export function agentsFile(dataFolder: string): string {
  return path.join(dataFolder, 'agents.json')
}

/** Never rejects: a damaged file must not keep the other agents from running. */
export async function readConfiguredAgents(dataFolder: string): Promise<ConfiguredAgents> {
  const file = agentsFile(dataFolder)
  // The user's own folder: their link may lead anywhere.
  const read = await readTextCarefully({
    root: '/',
    path: path.resolve(file),
    links: 'inside',
    maxBytes: MAX_BYTES,
  })
  if (read === undefined) return { agents: [], problems: [] }
  if ('fault' in read) return { agents: [], problems: [read.fault.message] }
  try {
    const entries: unknown = asObject(JSON.parse(read.text)).agents
    if (!Array.isArray(entries)) return { agents: [], problems: [`${file} has no list "agents".`] }
    const problems: string[] = []
    const agents: AcpAgentSpec[] = []
    for (const entry of entries) {
      const read = readEntry(entry)
      if (typeof read === 'string') problems.push(`${file}: ${read}`)
      else if (agents.some(({ name }) => name === read.name))
        problems.push(`${file}: ${read.name} is there twice.`)
      else agents.push(read)
    }
    return { agents, problems }
  } catch (error) {
    return { agents: [], problems: [`${file} is no JSON: ${error instanceof Error ? error.message : error}`] }
  }
}

/** Adds an agent to the user's list. Throws a HarnessError for a name or a command that cannot be used. */
export async function addConfiguredAgent(dataFolder: string, agent: AcpAgentSpec): Promise<void> {
  const entry = readEntry(agent)
  if (typeof entry === 'string') throw invalid(entry)
  await change(dataFolder, agents => {
    if (agents.some(({ name }) => name === entry.name))
      throw invalid(
        `There is an agent ${entry.name} already. Remove it first: chirality agents remove ${entry.name}`,
      )
    return [...agents, entry]
  })
}

/** False if there is none of that name. */
export async function removeConfiguredAgent(dataFolder: string, name: string): Promise<boolean> {
  return change(dataFolder, agents => {
    const rest = agents.filter(agent => agent.name !== name)
    return rest.length === agents.length ? undefined : rest
  })
}

/** Two processes may change the list at the same moment. Nothing is written for undefined: whether it was. */
async function change(
  dataFolder: string,
  next: (agents: AcpAgentSpec[]) => AcpAgentSpec[] | undefined,
): Promise<boolean> {
  const file = agentsFile(dataFolder)
  await mkdir(dataFolder, { recursive: true, mode: 0o700 })
  return changeFile(file, async () => {
    const { agents, problems } = await readConfiguredAgents(dataFolder)
    if (problems.length > 0) throw invalid(`${problems.join(' ')} Correct it first.`)
    const changed = next(agents)
    if (changed === undefined) return false
    const listed = changed.map(({ name, title, command, args, env }) => ({ name, title, command, args, env }))
    await writeFileAtomic(file, `${JSON.stringify({ agents: listed }, null, 2)}\n`)
    return true
  })
}

const MAX_BYTES = 4 * 1024 * 1024

/** The entry, or what is wrong with it. A known name keeps what is known of that agent. */
function readEntry(value: unknown): AcpAgentSpec | string {
  const { name, title, command, args = [], env = [] } = asObject(value)
  if (typeof name !== 'string' || !NAME.test(name))
    return `"${String(name)}" is no name of an agent: use 1 to 36 lower-case letters, digits and dashes.`
  if (typeof command !== 'string' || command.trim() === '' || command.includes('\0'))
    return `${name} has no command that starts it.`
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string' && !arg.includes('\0')))
    return `${name}: args has to be a list of texts.`
  if (!Array.isArray(env) || !env.every(variable => typeof variable === 'string' && VARIABLE.test(variable)))
    return `${name}: env has to be a list of names of variables, without their values.`
  const known = KNOWN_AGENTS.find(agent => agent.name === name)
  return {
    ...known,
    name,
    ...(typeof title === 'string' && title !== '' ? { title } : {}),
    command,
    args,
    env: [...new Set([...(known?.env ?? []), ...env])],
  }
}

/** With `acp-` before it, it is the id of a harness, which has at most 40 characters. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,34}[a-z0-9])?$/
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

function invalid(message: string): HarnessError {
  return new HarnessError(message, 'invalid_query', 'agents')
}
