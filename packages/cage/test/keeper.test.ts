import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { cageHere } from '@chirality/fixtures'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  CAGE_TRIES,
  type CagePlan,
  type CageRequest,
  type KeeperAnswer,
  keeperCommand,
  planCage,
} from '../src/index.ts'

const here = cageHere()
let root = ''
const at = (...names: string[]) => path.join(root, ...names)

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-cage-')))
  for (const name of ['home', 'data', 'project', 'cage']) mkdirSync(at(name))
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a shell in a cage tries eleven ways out, and none works', async () => {
  if (here.refusal !== undefined) return expectRefusal()
  writeFileSync(at('data', 'secret'), 'not for agents')
  const script = `cat ${at('data', 'secret')}; echo "home: $(ls -A ${at('home')})"; touch made; ls /proc | grep -c '^[0-9]'`
  const { answer, stdout, code } = await keep(await plan({ command: '/bin/sh', args: ['-c', script] }))
  expect(answer).toEqual({ kind: 'ready', tries: CAGE_TRIES.map(name => ({ name, held: true })) })
  expect(stdout).toMatch(/^home: \n\d\n$/)
  expect(code).toBe(0)
  expect(readdirSync(at('project'))).toEqual(['made'])
})

test('an agent is not started in a cage that holds nothing, and each attempt is named', async () => {
  if (here.refusal !== undefined) return expectRefusal()
  const bwrap = at('bwrap')
  const program = fileURLToPath(new URL('programs/open-bwrap.mjs', import.meta.url))
  writeFileSync(bwrap, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  chmodSync(bwrap, 0o755)
  const { answer } = await keep({
    ...(await plan({ command: '/bin/sh', args: ['-c', 'touch made'] })),
    bwrap,
  })
  expect(answer.kind).toBe('refused')
  const through = answer.tries.filter(({ held }) => !held).map(({ name }) => name)
  // The proxy refuses a host also without a cage; metadata address and name server are only there on some networks.
  expect(through).toEqual(
    expect.arrayContaining(
      CAGE_TRIES.filter(name => !['foreign-host', 'metadata-address', 'dns', 'system-write'].includes(name)),
    ),
  )
  expect(answer).toMatchObject({ reason: expect.stringContaining('home-read') })
  expect(existsSync(at('project', 'made'))).toBe(false)
})

test('the exit code of the agent is that of its keeper', async () => {
  if (here.refusal !== undefined) return expectRefusal()
  const { code } = await keep(await plan({ command: '/bin/sh', args: ['-c', 'exit 7'] }))
  expect(code).toBe(7)
})

test('the keeper and everything in the cage end with one signal, also a daemon that left its session', async () => {
  if (here.refusal !== undefined) return expectRefusal()
  const script = 'setsid sh -c "while :; do sleep 1; touch alive; done" & echo up; while :; do sleep 1; done'
  const cage = await start(await plan({ command: '/bin/sh', args: ['-c', script] }))
  await once(cage.stdout, 'data')
  cage.child.kill('SIGKILL')
  await once(cage.child, 'close')
  const inCage = () => readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && cwdOf(pid) === at('project'))
  while (inCage().length > 0) await new Promise(resolve => setImmediate(resolve))
})

test('a work folder above the home folder is refused', async () => {
  if (here.refusal !== undefined) return expectRefusal()
  await expect(plan({ cwd: root })).rejects.toMatchObject({ code: 'folder-unsuitable' })
})

test('without its programs there is no cage, and the error says how to get them', async () => {
  const environment = { PATH: at('home') }
  const isThere = existsSync('/usr/bin/bwrap') && existsSync('/usr/bin/socat')
  const planned = plan({ environment })
  if (isThere) return expect((await planned).bwrap).toBe('/usr/bin/bwrap')
  await expect(planned).rejects.toMatchObject({
    code: 'program-missing',
    message: expect.stringContaining('apt-get install'),
  })
})

async function expectRefusal(): Promise<void> {
  const made = plan({ command: '/bin/true' })
  if (here.refusal?.test('could not make the cage'))
    expect((await keep(await made)).answer.kind).toBe('refused')
  else await expect(made).rejects.toThrow(here.refusal)
}

function plan(wanted: Partial<CageRequest>): Promise<CagePlan> {
  const env = { PATH: process.env.PATH ?? '', HOME: at('home') }
  return planCage({
    command: '/bin/true',
    args: [],
    env,
    environment: { ...env, ...here.environment },
    cwd: at('project'),
    projectRoot: at('project'),
    folder: at('cage'),
    dataFolder: at('data'),
    needs: {
      program: [],
      own: [],
      server: { variable: 'MODEL_URL', vendor: 'http://127.0.0.1:9' },
      keys: [],
      env: {},
    },
    ...wanted,
  })
}

async function start(plan: CagePlan) {
  const { command, args } = keeperCommand(plan.folder)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit', 'pipe'], env: {} })
  const channel = child.stdio[3] as Socket
  channel.write(`${JSON.stringify(plan)}\n`)
  const [line] = (await once(channel.setEncoding('utf8'), 'data')) as [string]
  const stdout = child.stdout as Readable
  return { child, stdout, answer: JSON.parse(line) as KeeperAnswer }
}

async function keep(plan: CagePlan) {
  const { child, stdout: stream, answer } = await start(plan)
  let stdout = ''
  stream.on('data', chunk => {
    stdout += chunk
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { answer, stdout, code }
}

function cwdOf(pid: string): string {
  try {
    return realpathSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
