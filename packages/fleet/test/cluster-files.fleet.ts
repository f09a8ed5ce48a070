// The unit and the compose file of `fleet init --nodes`, read by the programs that they are for.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { initCluster, parseNodes } from '../src/engine/cluster.ts'
import { fetchProgram, isProgram } from '../src/engine/distribution.ts'
import { folder, later } from './support/fleet.ts'
import { freePort, natsBinary } from './support/nats.ts'

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze'
const COMPOSE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'fleet', 'bin', 'docker-compose')

async function firstFolder(nodes = 'a.example,b.example,c.example'): Promise<string> {
  const { folders } = await initCluster({ home: folder(), machine: 'hub', nodes: parseNodes(nodes) })
  return folders[0] ?? ''
}

/** The real one of Debian: `docker compose` reads files with the same code. */
async function dockerCompose(): Promise<string> {
  if (!isProgram(COMPOSE))
    // Debian 12 has a version 1, which is written in Python.
    await fetchProgram({ name: 'docker-compose', target: COMPOSE }, async path =>
      readFileSync(path).subarray(0, 4).equals(Buffer.from('\x7fELF', 'latin1')),
    )
  return COMPOSE
}

test.skipIf(!existsSync(SYSTEMD_ANALYZE))(
  'systemd finds no fault in the unit, and reads what it promises',
  async () => {
    const unit = join(await firstFolder(), 'chirality-broker.service')
    const env = { ...process.env, HOME: folder(), XDG_RUNTIME_DIR: folder() }
    // Faults are written to stderr, also those that it does not count.
    const said = execFileSync('/bin/sh', ['-c', `${SYSTEMD_ANALYZE} --user verify "$0" 2>&1`, unit], {
      env,
      encoding: 'utf8',
    })
    expect(said).toBe('')
    const text = readFileSync(unit, 'utf8')
    for (const line of [
      'Restart=always',
      'StartLimitIntervalSec=0',
      'LimitNOFILE=65536',
      'NoNewPrivileges=true',
    ])
      expect(text.split('\n')).toContain(line)
    // Systemd would only warn of a name that it does not know.
    const wrong = join(folder(), 'chirality-broker.service')
    execFileSync('/bin/sh', ['-c', 'sed s/RestartSec/RestartSecs/ "$0" > "$1"', unit, wrong])
    const warned = execFileSync('/bin/sh', ['-c', `${SYSTEMD_ANALYZE} --user verify "$0" 2>&1`, wrong], {
      env,
      encoding: 'utf8',
    })
    expect(warned).toContain('RestartSecs')
  },
)

test.skipIf(process.platform !== 'linux')(
  'docker compose reads the compose file as it is meant',
  async () => {
    const place = await firstFolder()
    const printed = execFileSync(await dockerCompose(), ['config', '--format', 'json'], {
      cwd: place,
      encoding: 'utf8',
      env: { HOME: folder(), PATH: process.env.PATH },
    })
    const { services } = JSON.parse(printed) as { services: Record<string, object> }
    expect(services).toEqual({
      broker: expect.objectContaining({
        command: ['-c', 'nats.conf'],
        working_dir: '/broker',
        network_mode: 'host',
        restart: 'unless-stopped',
        read_only: true,
        cap_drop: ['ALL'],
        cap_add: ['DAC_OVERRIDE'],
        volumes: [expect.objectContaining({ type: 'bind', source: place, target: '/broker' })],
        ulimits: { nofile: 65_536 },
      }),
    })
  },
)

test.skipIf(process.getuid?.() !== 0 || !existsSync('/usr/bin/setpriv'))(
  'a broker with the rights that the compose file leaves it reads and writes the folder of another user',
  async () => {
    const port = await freePort()
    const place = await firstFolder(`127.0.0.1:${port},127.0.0.2:${port},127.0.0.3:${port}`)
    for (const name of ['', ...readdirSync(place)]) chownSync(join(place, name), 12_345, 12_345)
    const rights = ['--bounding-set=-all,+dac_override', '--inh-caps=-all', '--no-new-privs']
    const child = spawn('setpriv', [...rights, await natsBinary(), '-c', 'nats.conf'], {
      cwd: place,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    later(() => child.kill('SIGKILL'))
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await expect.poll(() => said).toContain('Server is ready')
    expect(readFileSync(`/proc/${child.pid}/status`, 'utf8')).toMatch(/CapEff:\s+0+2\n/)
    expect(statSync(join(place, 'store')).isDirectory()).toBe(true)
  },
)
