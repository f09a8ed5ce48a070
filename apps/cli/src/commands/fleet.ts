import type { CallOutputs } from '@chirality/client'
import {
  BIN_VARIABLE,
  certificateFingerprint,
  findNatsServer,
  initCluster,
  initFleet,
  installNatsServer,
  invite as inviteTo,
  joinFleet,
  keyFingerprint,
  leaveFleet,
  type Member,
  type NatsBinary,
  parseNodes,
  publicKeyOf,
  readMember,
  revoke as revokeFrom,
} from '@chirality/fleet'
import { processEnv } from '@chirality/runner'
import { userDataFolder } from '@chirality/sessions'
import { confirmed } from '../confirm.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { chooseAction, noArgument, oneArgument, readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { runningServers } from '../running-server.ts'

/** Makes a fleet, lets machines join it and leave it, and shows it. */
export async function fleet(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('fleet', positionals, ACTIONS)
  return run(rest, values, output)
}

const ACTIONS = { init, invite, join, status, revoke, forget, leave, move, drain, takeover, keep }

const OPTIONS = {
  name: { type: 'string' },
  host: { type: 'string' },
  nodes: { type: 'string' },
  nats: { type: 'string' },
  sha256: { type: 'string' },
  port: { type: 'string' },
  hub: { type: 'boolean' },
  force: { type: 'boolean' },
  to: { type: 'string' },
  wait: { type: 'boolean' },
  yes: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>['values']

async function init(rest: string[], values: Values, output: Output): Promise<number> {
  noArgument(rest)
  if (values.nodes !== undefined) return initNodes(values.nodes, values, output)
  const home = userDataFolder()
  const port = wholeNumber('port', values.port, { min: 1, max: 65_535 })
  // Before anything is written: without a broker there is no fleet.
  const { path, version } = await natsServer(home, values)
  const member = await initFleet({
    ...{ home },
    ...(values.name === undefined ? {} : { machine: values.name }),
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(port === undefined ? {} : { port }),
  })
  const facts = { ...factsOf(member), broker: path, brokerVersion: version }
  const text = `This machine is the hub ${member.machine} of a new fleet, with nats-server ${version} at ${member.url}.
Its certificate: ${facts.fingerprint}

Start it:           chirality serve --fleet ${member.url}
Let a machine join: chirality fleet invite
${loopbackWarning(member.url)}`
  return show(output, values, facts, text)
}

/** The one that the user gives, else one that is here or can be fetched. */
async function natsServer(home: string, { nats: from, sha256 }: Values): Promise<NatsBinary> {
  if (from === undefined && sha256 === undefined)
    return findNatsServer({ home, fetch: true, onProgress: text => void tell(`${text}\n`) })
  if (from === undefined || sha256 === undefined)
    throw new UsageError('--nats FILE and --sha256 SUM go together: what has another sum is not run.')
  if (processEnv()[BIN_VARIABLE])
    throw new UsageError(`${BIN_VARIABLE} names a nats-server, too. Leave one of them out.`)
  if (await readMember(home))
    throw new UsageError(
      `This machine is in a fleet already. Name the program with ${BIN_VARIABLE} when you start it.`,
    )
  return installNatsServer(home, { from, sha256 })
}

/** Other machines would dial themselves. */
function loopbackWarning(url: string): string {
  if (!/^tls:\/\/(127\.|localhost\b|\[::1\])/.test(url)) return ''
  return `
Only this machine can reach ${url}. For others, give the address that they dial: chirality fleet init --host ADDRESS
`
}

/** Three brokers, which run by themselves. */
async function initNodes(nodes: string, values: Values, output: Output): Promise<number> {
  const other = (['host', 'port', 'nats', 'sha256'] as const).find(name => values[name] !== undefined)
  if (other !== undefined)
    throw new UsageError(
      `--nodes names the addresses of three brokers, which run by themselves. Leave --${other} out.`,
    )
  const { member, folders } = await initCluster({
    ...{ home: userDataFolder(), nodes: parseNodes(nodes) },
    ...(values.name === undefined ? {} : { machine: values.name }),
  })
  const facts = { ...factsOf(member), folders }
  const copies = folders.map((folder, at) => {
    const host = new URL(member.url.split(',')[at] ?? '').hostname
    return `  scp -r ${folder} ${host}:chirality-broker\n`
  })
  const text = `This machine is the hub ${member.machine} of a new fleet with three brokers. Their folders have their keys; copy each to its machine:
${copies.join('')}
and start it there, with nats-server 2.10.23 or later, by one of these:
  (cd chirality-broker && docker compose up -d)
  mkdir -p ~/.config/systemd/user && cp chirality-broker/chirality-broker.service ~/.config/systemd/user && systemctl --user enable --now chirality-broker && loginctl enable-linger

Certificate of the fleet: ${facts.fingerprint}

Then start this hub: chirality serve --fleet ${member.url}
Let a machine join:  chirality fleet invite
`
  return show(output, values, facts, text)
}

async function invite(rest: string[], values: Values, output: Output): Promise<number> {
  noArgument(rest)
  const home = userDataFolder()
  const { code, fingerprint } = await inviteTo(home, values.hub ? 'hub' : 'worker')
  const member = await readMember(home)
  const text = `Certificate of the fleet: ${fingerprint}
Run this on the other machine, within a day. The code works once; whoever has it can join.

  chirality fleet join ${code}
${member === undefined ? '' : loopbackWarning(member.url)}`
  return show(output, values, { code, fingerprint }, text)
}

async function join(rest: string[], values: Values, output: Output): Promise<number> {
  const code = oneArgument(rest, 'the code of `chirality fleet invite`')
  const { member, fingerprint, key } = await joinFleet({
    ...{ home: userDataFolder(), code },
    ...(values.name === undefined ? {} : { machine: values.name }),
  })
  const text = `This machine is the ${member.role} ${member.machine} of the fleet at ${member.url}.
Certificate of the fleet: ${fingerprint}
Key of this machine:      ${key}
The hub shows the same key. If it differs, run \`chirality fleet revoke ${member.machine}\` there.

Start it: chirality ${member.role === 'hub' ? 'serve' : 'worker'} --fleet ${member.url}
`
  return show(output, values, { ...factsOf(member), fingerprint, key }, text)
}

async function revoke(rest: string[], values: Values, output: Output): Promise<number> {
  const machine = oneArgument(rest, 'the name of the machine')
  await revokeFrom(userDataFolder(), machine)
  return show(output, values, { revoked: machine }, `${machine} can no longer connect.\n`)
}

/** Removes a machine that does not come back, and all that the fleet has of it. */
async function forget(rest: string[], values: Values, output: Output): Promise<number> {
  const machine = oneArgument(rest, 'the name of the machine')
  const { server } = await hubServer()
  const question = `Remove ${machine}, with its sessions, their logs and copies, from all hubs and brokers? Its own files stay.`
  if (!values.yes && !(await confirmed(question, 'It cannot be undone. Say --yes to do it.')))
    return tell('chirality: Nothing was removed.\n').then(() => EXIT.failed)
  const { sessions } = await server.calls.fleet.forget.mutate({ machine })
  const text = `${machine} is forgotten, with ${sessions} session${sessions === 1 ? '' : 's'}. What it has on its own disk stays there.\n`
  return show(output, values, { forgotten: machine, sessions }, text)
}

/** Takes this machine out of its fleet. */
async function leave(rest: string[], values: Values, output: Output): Promise<number> {
  noArgument(rest)
  const { member, folder, madeFleet, freed } = await leaveFleet({
    ...{ home: userDataFolder(), force: values.force ?? false },
  })
  const { machine, role, url } = member
  const text = `This machine is no longer the ${role} ${machine} of the fleet at ${url}. Keys, mirrored logs and copies are in ${folder}.
${madeFleet ? ENDED : afterLeaving(machine)}${freed.map(freedText).join('')}`
  return show(output, values, { left: machine, folder, freed }, text)
}

function freedText(session: string): string {
  return `The session ${session} was on its way to another machine, or taken over by one. It can be used here again; that machine may have it, too.\n`
}

const ENDED = `The fleet has ended: no machine can join or be revoked any more. Run \`chirality fleet leave\` on each of the others.
`

function afterLeaving(machine: string): string {
  return `Its key is let in until the hub takes its rights away: chirality fleet revoke ${machine}
To join this fleet again, do that first, then join with the same name. Under another name its sessions are not reached, and can be taken over while it works.
`
}

async function move(rest: string[], values: Values, output: Output): Promise<number> {
  const session = oneArgument(rest, 'the id of the session')
  const moved = await moveTo(session, targetOf(values))
  const text = `The session is on ${moved.to} now, in a worktree of its own. ${moved.from} keeps its log in .chirality/moved, and its files.\n`
  return show(output, values, moved, text)
}

/** Lets another machine go on with a session whose machine is gone. */
async function takeover(rest: string[], values: Values, output: Output): Promise<number> {
  const sessionId = oneArgument(rest, 'the id of the session')
  const { server } = await hubServer()
  const goOn = values.wait ? { goOn: false } : {}
  const taken = await server.calls.fleet.takeover.mutate({ sessionId, to: targetOf(values), ...goOn })
  const { from, to, asked, problem } = taken
  const next = asked
    ? 'Its agent was asked to go on.'
    : `Its agent waits for a message.${problem === null ? '' : ` It was not asked to go on: ${problem}`}`
  const text = `The session is on ${to} now, with the last copy of its files and conversation. ${next}
If ${from} comes back, it is refused, and what it did since then is kept there.\n`
  await show(output, values, taken, text)
  return problem === null ? EXIT.done : EXIT.failed
}

/** Gives up a move whose target does not come back. */
async function keep(rest: string[], values: Values, output: Output): Promise<number> {
  const sessionId = oneArgument(rest, 'the id of the session')
  const { server } = await hubServer()
  const kept = await server.calls.fleet.keep.mutate({ sessionId })
  const { machine, gaveUp } = kept
  const text =
    gaveUp === null
      ? `The move is settled: the session is on ${machine}.\n`
      : `The session continues on ${machine}. If ${gaveUp} comes back with it, it is refused, and what it has is kept there.\n`
  return show(output, values, kept, text)
}

/** Moves every session of a machine that is not at work. */
async function drain(rest: string[], values: Values, output: Output): Promise<number> {
  const machine = oneArgument(rest, 'the name of the machine')
  const to = targetOf(values)
  if (to === machine) throw new UsageError(`${machine} has them: name another machine with --to.`)
  const moved: string[] = []
  const left: { session: string; why: string }[] = []
  for (const session of await sessionsOf(machine, to)) {
    try {
      await moveTo(session, to)
      moved.push(session)
    } catch (error) {
      left.push({ session, why: error instanceof Error ? error.message : String(error) })
    }
  }
  const lines = left.map(({ session, why }) => `${session} stays: ${why}\n`)
  const text = `${moved.length} of ${moved.length + left.length} sessions of ${machine} are on ${to} now.\n${lines.join('')}`
  await show(output, values, { moved, left }, text)
  return left.length === 0 ? EXIT.done : EXIT.failed
}

function targetOf({ to }: Values): string {
  if (to === undefined) throw new UsageError('Name the machine that gets it: --to MACHINE.')
  return to
}

async function moveTo(sessionId: string, to: string): Promise<{ from: string; to: string }> {
  const { server } = await hubServer()
  return server.calls.fleet.move.mutate({ sessionId, to })
}

async function sessionsOf(machine: string, to: string): Promise<string[]> {
  const { server, machines } = await hubServer()
  const named = (name: string) => {
    const found = machines.find(one => one.machine === name)
    if (found !== undefined) return found
    throw new UsageError(`No machine of the fleet is called ${name}.`)
  }
  const found = named(machine)
  named(to)
  const ids: string[] = []
  for (let cursor: string | undefined, isMore = true; isMore; ) {
    const page = await server.calls.sessions.list.query({ limit: 100, cursor })
    ids.push(
      ...page.sessions.flatMap(one =>
        (one.machine?.name ?? null) === (found.isThis ? null : machine) ? [one.id] : [],
      ),
    )
    cursor = page.nextCursor
    isMore = cursor !== undefined
  }
  return ids
}

async function hubServer() {
  const found = await memberServer(userDataFolder())
  if (found !== undefined) return found
  throw new UsageError('No server of this machine is in a fleet. Start one: chirality serve --fleet URL')
}

async function status(rest: string[], values: Values, output: Output): Promise<number> {
  noArgument(rest)
  const home = userDataFolder()
  const member = await readMember(home)
  if (member === undefined) {
    await tell(
      'This machine is in no fleet. `chirality fleet init` makes one, `chirality fleet join CODE` joins one.\n',
    )
    return EXIT.failed
  }
  const found = await memberServer(home)
  const machines = found?.machines ?? null
  const info = found ? await found.server.calls.fleet.info.query() : null
  const { readOnly = null, problem = null } = info ?? {}
  const head = `This is the ${member.role} ${member.machine} of the fleet at ${member.url}.\nCertificate of the fleet: ${certificateFingerprint(member.cert)}\n`
  const text = `${head}${info === null ? '' : stateText(info)}${machines?.map(machineLine).join('') ?? 'No server of this machine runs, so it knows nothing of the others.\n'}`
  const connected = info?.connected ?? false
  return show(output, values, { ...factsOf(member), connected, problem, readOnly, machines }, text)
}

type FleetState = NonNullable<CallOutputs['fleet']['info']>

function stateText({ connected, problem, readOnly }: FleetState): string {
  if (!connected)
    return `It is not connected${problem === null ? '.' : `: ${problem}`} It is tried again all the time; agents work on.\n`
  if (readOnly === null) return ''
  return `The fleet is read-only: ${readOnly}. Agents work on, and everything is shipped later.\n`
}

type ListedMachine = CallOutputs['fleet']['machines'][number]

function machineLine(listed: ListedMachine): string {
  const { machine, state, role, version, busy, slots, load, isThis, hasKey, key } = listed
  const facts = [
    version === '' ? 'not heard yet' : `${busy}/${slots} busy, load ${load.toFixed(2)} per core`,
    ...(hasKey === false ? ['rights taken away'] : []),
    ...(key === null ? [] : [`key ${key}`]),
    ...(isThis ? ['this machine'] : []),
  ]
  return `${machine.padEnd(20)} ${state.padEnd(8)} ${role.padEnd(7)} ${facts.join(', ')}\n`
}

/** The server of this machine that is in the fleet, and the machines as it sees them. */
async function memberServer(home: string) {
  for (const server of await runningServers(home)) {
    const machines = await server.calls.fleet.machines.query()
    if (machines.length > 0) return { server, machines }
  }
  return undefined
}

function factsOf({ machine, role, url, cert, seed }: Member) {
  const key = keyFingerprint(publicKeyOf(seed))
  return { machine, role, url, fingerprint: certificateFingerprint(cert), key }
}

async function show(output: Output, { json }: Values, facts: object, text: string): Promise<number> {
  await output.write(json ? `${JSON.stringify(facts)}\n` : text)
  return EXIT.done
}
