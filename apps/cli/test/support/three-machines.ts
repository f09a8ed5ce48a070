import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { makeTestNetwork } from '../../../../.scripts/test-network.ts'
import type { RunningCommand } from './running-command.ts'
import { BIN, type World } from './world.ts'

/** The addresses of the documents: RFC 5737 keeps them for examples. */
const ADDRESSES = { hub: '192.0.2.10', 'build-1': '192.0.2.11', 'build-2': '192.0.2.12' } as const

export type MachineName = keyof typeof ADDRESSES

export interface TestMachine {
  home: string
  env: Record<string, string>
  /** A line of a document, in a shell of this machine. */
  start(line: string): RunningCommand
  /** To its end, which has to be a good one. */
  run(line: string): Promise<string>
  /** A call of the server that runs on this machine. */
  call<T>(name: string, input?: unknown, method?: 'GET' | 'POST'): Promise<T>
}

/**
 * Three machines with homes of their own and a clone of one repository in `~/src/shop`. As root each is in a network
 * namespace of its own, with the addresses of the documents; elsewhere they are addresses of this machine's loopback.
 */
export async function threeMachines(
  world: World,
  env: Record<string, string>,
): Promise<Record<MachineName, TestMachine>> {
  const network = await makeNetwork(new URL(world.model.url))
  const bin = path.join(world.home, 'bin')
  mkdirSync(bin)
  writeFileSync(path.join(bin, 'chirality'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`)
  chmodSync(path.join(bin, 'chirality'), 0o755)
  const origin = makeRepository(world)
  const machine = (name: MachineName): TestMachine => {
    const home = path.join(world.home, 'machines', name)
    git(world.home, 'clone', '-q', origin, path.join(home, 'src', 'shop'))
    // A machine that is killed keeps its temporary files.
    const temporary = path.join(world.home, `tmp-${name}`)
    mkdirSync(temporary)
    const own = {
      ...{ ...env, HOME: home, PATH: `${bin}:${world.env.PATH}`, CI: '1' },
      ...{ TMPDIR: temporary, CLAUDE_CODE_TMPDIR: temporary, XDG_RUNTIME_DIR: temporary },
    }
    // Not a child of the shell: signals are for the command.
    const start = (line: string) =>
      world.start(
        [...network.enter(name), '/bin/sh', '-c', network.translate(line).replace(/^chirality /, 'exec $&')],
        {
          ...{ env: own, cwd: home, program: '/usr/bin/env' },
        },
      )
    const run = async (line: string) => {
      const { code, stdout, stderr } = await start(line).result()
      expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0)
      return stdout
    }
    return {
      ...{ home, env: own, start, run },
      call: async <T>(procedure: string, input?: unknown, method = 'GET') => {
        const args = [procedure, JSON.stringify(input ?? null), method]
        const command = world.start(
          [...network.enter(name), process.execPath, '--input-type=module', '-e', CALL, ...args],
          { env: own, cwd: home, program: '/usr/bin/env' },
        )
        const { stdout, stderr } = await command.result()
        if (stdout === '') throw new Error(stderr)
        return JSON.parse(stdout) as T
      },
    }
  }
  return { hub: machine('hub'), 'build-1': machine('build-1'), 'build-2': machine('build-2') }
}

/** Run on a machine: calls the server whose file is there. */
const CALL = `
import { readdirSync, readFileSync } from 'node:fs'
const [name, input, method] = process.argv.slice(1)
const folder = process.env.HOME + '/.local/share/chirality/servers/'
const file = readdirSync(folder).find(one => one.endsWith('.json'))
const { url, token } = JSON.parse(readFileSync(folder + file, 'utf8'))
const query = method === 'GET' && input !== 'null' ? '?input=' + encodeURIComponent(input) : ''
const response = await fetch(url + '/trpc/' + name + query, {
  method,
  headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' },
  ...(method === 'POST' ? { body: input } : {}),
})
const { result, error } = await response.json()
if (error !== undefined) throw new Error(error.message)
process.stdout.write(JSON.stringify(result.data ?? null))
`

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd, encoding: 'utf8' })

function makeRepository(world: World): string {
  git(world.project, 'init', '-q', '-b', 'main')
  writeFileSync(path.join(world.project, '.gitignore'), '.env\n.chirality\n')
  git(world.project, 'add', '.')
  git(world.project, 'commit', '-qm', 'first')
  const origin = path.join(world.home, 'shop.git')
  git(world.home, 'clone', '-q', '--bare', world.project, origin)
  return origin
}

interface Network {
  /** The words before a command that is run on the machine. */
  enter(name: MachineName): string[]
  /** A line with addresses that exist here. */
  translate(line: string): string
}

async function makeNetwork(model: URL): Promise<Network> {
  const network = makeTestNetwork(ADDRESSES)
  if (network === undefined) {
    // Whoever runs the same test at the same time has others, most likely.
    const part = 1 + Math.floor(Math.random() * 254)
    return { enter: () => [], translate: line => line.replaceAll('192.0.2.', `127.${part}.2.`) }
  }
  onTestFinished(() => network.close())
  const door = await modelDoor(model)
  for (const name of Object.keys(ADDRESSES) as MachineName[])
    await openDoor(network.enter(name), model.port, door)
  return { enter: name => network.enter(name), translate: line => line }
}

/** A socket in the file system, which namespaces share, that leads to the model. */
async function modelDoor({ hostname, port }: URL): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'chi-'))
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    const model = connect(Number(port), hostname)
    for (const one of [socket, model]) {
      sockets.add(one)
      one.on('error', () => {}).once('close', () => [socket, model].map(other => other.destroy()))
    }
    socket.pipe(model).pipe(socket)
  })
  const file = path.join(folder, 'model')
  await new Promise<void>(resolve => server.listen(file, resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
    rmSync(folder, { recursive: true })
  })
  return file
}

/** The model at the address that the agents in a namespace know. */
async function openDoor([command = '', ...words]: string[], port: string, door: string): Promise<void> {
  const args = [...words, process.execPath, '-e', DOOR, port, door]
  const child = spawn(command, args, {
    ...{ env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
}

const DOOR = `
const { connect, createServer } = require('node:net')
const [port, door] = process.argv.slice(1)
createServer(socket => {
  const model = connect(door)
  for (const one of [socket, model])
    one.on('error', () => {}).once('close', () => [socket, model].map(other => other.destroy()))
  socket.pipe(model).pipe(socket)
}).listen(Number(port), '127.0.0.1', () => console.log('open'))
`
