import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { ATTACK_SECRET, type Attack, attackScript, layAttacks } from '@chirality/fixtures'
import { afterEach, expect, test } from 'vitest'
import { expectRefusal, here, keep, usePlace } from './support.ts'

const { at, plan } = usePlace()
const endings: (() => void)[] = []

afterEach(() => {
  for (const end of endings.splice(0)) end()
})

test('none of the attacks gets out of the cage', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  const { attacks, planted, secrets } = await lay()
  expect(attacks.length).toBeGreaterThanOrEqual(80)
  writeFileSync(at('project', 'attack.sh'), attackScript(attacks))
  const { answer, stdout } = await keep(await plan({ command: '/bin/sh', args: ['attack.sh'] }))
  expect(answer.kind).toBe('ready')
  expect(through(stdout, attacks)).toEqual([])
  expect(planted.filter(file => existsSync(file))).toEqual([])
  expect(reached).toEqual([])
  expect(daemons()).toEqual([])
  for (const file of secrets) expect(readFileSync(file, 'utf8')).toBe(`${ATTACK_SECRET}\n`)
})

test('the same attacks get through without a cage', async () => {
  const { attacks, planted } = await lay()
  const tried = attacks.filter(({ onlyCaged }) => !onlyCaged)
  const child = spawn('/bin/sh', ['-c', attackScript(tried)], {
    cwd: at('project'),
    env: { PATH: process.env.PATH ?? '', HOME: at('home') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  await once(child, 'close')
  // The shell that becomes a daemon may not have done so yet.
  await expect.poll(daemons).toHaveLength(SLEEPS.length)
  const left = daemons()
  for (const pid of left) process.kill(pid, 'SIGKILL')
  expect(planted.filter(file => !existsSync(file))).toEqual([])
  const byFile = tried.filter(({ name }) => /^(plant |leave )/.test(name)).map(({ name }) => name)
  const held = tried.map(({ name }) => name).filter(name => !through(stdout, tried).includes(name))
  // A machine may have no IPv6.
  expect(held.filter(name => !byFile.includes(name) && name !== 'connect by IPv6')).toEqual([])
})

/** Longer than a day, and different in each process of tests. */
const SLEEPS = [100_000 + process.pid * 2, 100_001 + process.pid * 2] as const

/** Connections to what only the host has. */
const reached: string[] = []

async function lay() {
  reached.length = 0
  const port = await listen('port', { host: '0.0.0.0', port: 0 })
  const port6 = await listen('port6', { host: '::1', port: 0 }).catch(() => 9)
  const abstract = `chirality-attack-${process.pid}`
  await listen('abstract socket', { path: `\0${abstract}` })
  await listen('socket', { path: at('socket') })
  const udp = createSocket('udp4')
  udp.on('message', (_data, from) => udp.send('open-to-all', from.port, from.address))
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  endings.push(() => udp.close())
  return layAttacks({
    home: at('home'),
    project: at('project'),
    data: at('data'),
    other: at('other'),
    ...{ port, port6, udpPort: udp.address().port, abstract, socket: at('socket'), address: ownAddress() },
    sleeps: SLEEPS,
    victim: (await startVictim()).pid ?? 0,
  })
}

async function listen(name: string, place: ListenOptions): Promise<number> {
  const server: Server = createServer(socket => {
    reached.push(name)
    socket.on('error', () => {})
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nopen-to-all')
  })
  server.listen(place)
  await once(server, 'listening')
  endings.push(() => server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function startVictim(): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', 'echo up; while :; do sleep 60; done # victim'], {
    cwd: at('other'),
    env: { SECRET: ATTACK_SECRET, PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  // With the `sleep` of its loop.
  endings.push(() => child.pid && process.kill(-child.pid, 'SIGKILL'))
  if (child.stdout) await once(child.stdout, 'data')
  return child
}

function through(stdout: string, attacks: readonly Attack[]): string[] {
  const lines = stdout.split('\n')
  return attacks.map(({ name }) => name).filter(name => !lines.includes(`${name} held`))
}

function daemons(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => SLEEPS.some(seconds => commandOf(pid) === `sleep\0${seconds}\0`))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2'
}
