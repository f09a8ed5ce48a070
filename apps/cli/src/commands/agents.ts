import { ACP_ID_PREFIX, HarnessError } from '@chirality/core'
import {
  acpHarnesses,
  addConfiguredAgent,
  agentsFile,
  readConfiguredAgents,
  removeConfiguredAgent,
} from '@chirality/runner'
import { userDataFolder } from '@chirality/sessions'
import { agentEnvironment } from '../agent-environment.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'

/** Agents that speak the Agent Client Protocol: those that the user configured, and known ones that are installed. */
export async function agents(args: string[], output: Output): Promise<number> {
  const [action = 'list', ...rest] = args
  switch (action) {
    case 'list':
      return list(rest, output)
    case 'add':
      return add(rest)
    case 'remove':
      return remove(rest)
    default:
      throw new UsageError(`Unknown: agents ${action}. Use list, add or remove.`)
  }
}

async function list(args: string[], output: Output): Promise<number> {
  const { values } = readOptions(args, { json: { type: 'boolean' } })
  const dataFolder = userDataFolder()
  const { agents: configured, problems } = await readConfiguredAgents(dataFolder)
  for (const problem of problems) await tell(`${plain(problem)}\n`)
  const found = await acpHarnesses({ dataFolder, environment: agentEnvironment() })
  for (const { meta } of found) {
    const own = configured.find(({ name }) => `${ACP_ID_PREFIX}${name}` === meta.id)
    const from = own ? 'configured' : 'found on PATH'
    const line = own ? [own.command, ...own.args].join(' ') : meta.name
    await output.write(
      values.json
        ? `${JSON.stringify({ id: meta.id, name: meta.name, isConfigured: own !== undefined, ...(own ? { command: own.command, args: own.args, env: own.env } : {}) })}\n`
        : `${meta.id}  ${from}  ${plain(line)}\n`,
    )
  }
  if (found.length === 0 && !values.json)
    await tell('No agent is configured, and none is found. Add one: chirality agents add NAME -- COMMAND…\n')
  return EXIT.done
}

/** `agents add NAME [--env NAME,…] -- COMMAND…` */
async function add(args: string[]): Promise<number> {
  const end = args.indexOf('--')
  if (end < 0) throw new UsageError(ADD_USAGE)
  const { values, positionals } = readOptions(args.slice(0, end), {
    env: { type: 'string' },
    title: { type: 'string' },
  })
  const [name, ...more] = positionals
  const [command, ...rest] = args.slice(end + 1)
  if (name === undefined || more.length > 0 || command === undefined) throw new UsageError(ADD_USAGE)
  const title = values.title === undefined ? {} : { title: values.title }
  const spec = {
    name,
    ...title,
    command,
    args: rest,
    env: (values.env ?? '').split(/[\s,]+/).filter(Boolean),
  }
  await asUsage(() => addConfiguredAgent(userDataFolder(), spec))
  await tell(
    `Added ${ACP_ID_PREFIX}${name} to ${agentsFile(userDataFolder())}. A running server shows it after its next start.\n`,
  )
  return EXIT.done
}

async function remove(args: string[]): Promise<number> {
  const { positionals } = readOptions(args, {})
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0)
    throw new UsageError('Name one agent: chirality agents remove NAME')
  const isThere = await asUsage(() => removeConfiguredAgent(userDataFolder(), name))
  if (!isThere) throw new UsageError(`There is no configured agent ${name}. See: chirality agents list`)
  await tell(`Removed ${name}. Its sessions stay.\n`)
  return EXIT.done
}

const ADD_USAGE =
  'Say how it is started: chirality agents add NAME [--env NAME,…] -- COMMAND…, as in: chirality agents add mine -- my-agent --acp'

async function asUsage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof HarnessError) throw new UsageError(error.message)
    throw error
  }
}
