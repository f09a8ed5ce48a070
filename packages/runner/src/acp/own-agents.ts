import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { ACP_ID_PREFIX, type SessionHarness } from '@chirality/core'
import { OneAfterTheOther } from '@chirality/disk'
import { buildChildEnv } from '../env/child-env.ts'
import type { HarnessOptions } from '../harness-descriptor.ts'
import { resolveExecutable } from '../process/program/resolve-executable.ts'
import { makeTempFolder } from '../process/spool/temp-folder.ts'
import { processEnv } from '../process/system/process-env.ts'
import type { HarnessRegistry } from '../registry.ts'
import { AcpAgent } from './acp-agent.ts'
import type { AcpAgentSpec } from './agent-spec.ts'
import {
  acpHarnesses,
  addConfiguredAgent,
  agentsFile,
  readConfiguredAgents,
  removeConfiguredAgent,
} from './configured-agents.ts'

export interface OwnAgentsOptions {
  dataFolder: string
  harnesses: HarnessRegistry<SessionHarness>
  /** For the harness of an agent that is added. */
  harnessOptions?: HarnessOptions
  /** How long an agent that is tried may take to answer. Default 30 s. */
  testMs?: number
}

export interface OwnAgent extends Pick<AcpAgentSpec, 'name' | 'title' | 'command' | 'args' | 'env'> {
  /** The id of its harness. */
  id: string
  /** Of what it runs. */
  fingerprint: string
}

/** What an agent said of itself, or why it said nothing. */
export type AgentProbe =
  | { kind: 'answered'; ms: number; version: string | null; can: string[]; logins: string[] }
  | { kind: 'failed'; error: string }

/** The user's own list of agents, in the file and in a running server: who is added can be used at once. */
export class OwnAgents {
  readonly #options: OwnAgentsOptions
  /** One change after the other. */
  readonly #changes = new OneAfterTheOther()

  constructor(options: OwnAgentsOptions) {
    this.#options = options
  }

  async list(): Promise<{ file: string; agents: OwnAgent[]; problems: string[] }> {
    const { dataFolder } = this.#options
    const { agents, problems } = await readConfiguredAgents(dataFolder)
    return { file: agentsFile(dataFolder), agents: agents.map(shown), problems }
  }

  /** Throws a HarnessError for a name or a command that cannot be used. */
  add(agent: AcpAgentSpec): Promise<void> {
    return this.#changes.run(async () => {
      await addConfiguredAgent(this.#options.dataFolder, agent)
      await this.#offer(agent.name)
    })
  }

  /** Its processes end. False if there is none of that name. */
  remove(name: string): Promise<boolean> {
    return this.#changes.run(async () => {
      if (!(await removeConfiguredAgent(this.#options.dataFolder, name))) return false
      await this.#offer(name)
      return true
    })
  }

  /** Starts the agent, asks who it is, and ends it with everything that it started. */
  async test(agent: OwnAgent): Promise<AgentProbe> {
    const { testMs = TEST_MS, harnessOptions } = this.#options
    const environment = processEnv(harnessOptions?.environment)
    const { PATH = '', HOME } = environment
    const { id: harnessId, name, title = name, args, env: names } = agent
    const where = { path: PATH, ...(HOME === undefined ? {} : { home: HOME }) }
    const command = await resolveExecutable(agent.command, [], where)
    if (command === undefined)
      return { kind: 'failed', error: `There is no program ${agent.command} on the PATH of the server.` }
    const { env } = buildChildEnv({ source: environment, own: { names } })
    const folder = await makeTempFolder(env, harnessId)
    const startedAt = performance.now()
    try {
      const started = await AcpAgent.start({
        agent: { harnessId, name: title },
        command,
        args,
        env,
        cwd: folder,
        projectRoot: folder,
        label: 'test',
        config: { rawLogs: 'off', handshakeMs: testMs },
      })
      const ms = Math.round(performance.now() - startedAt)
      const { hello } = started
      await started.stop({ interruptGraceMs: 0 })
      await started.ended
      const can = [
        ...(hello.canLoad || hello.canResume ? ['resume'] : []),
        ...(hello.canFork ? ['fork'] : []),
        ...(hello.takesImages ? ['images'] : []),
        ...(hello.takesHttpServers ? ['HTTP tool servers'] : []),
      ]
      return { kind: 'answered', ms, version: hello.version ?? null, can, logins: hello.logins }
    } catch (error) {
      return { kind: 'failed', error: error instanceof Error ? error.message : String(error) }
    } finally {
      await rm(folder, { recursive: true, force: true }).catch(() => {})
    }
  }

  /** Replaces the harness of this name by what the list and PATH say now. */
  async #offer(name: string): Promise<void> {
    const { dataFolder, harnesses, harnessOptions = {} } = this.#options
    const id = `${ACP_ID_PREFIX}${name}`
    await harnesses.unregister(id)?.close()
    const environment = processEnv(harnessOptions.environment)
    const found = (await acpHarnesses({ dataFolder, environment })).find(({ meta }) => meta.id === id)
    if (found) harnesses.register(await found.create(harnessOptions))
  }
}

const TEST_MS = 30_000

function shown({ name, title, command, args, env }: AcpAgentSpec): OwnAgent {
  const facts = { name, ...(title === undefined ? {} : { title }), command, args, env }
  const fingerprint = createHash('sha256').update(JSON.stringify(facts)).digest('hex')
  return { ...facts, id: `${ACP_ID_PREFIX}${name}`, fingerprint }
}
