import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFileAtomic } from '@chirality/disk'
import { buildChildEnv, processEnv, runHelper } from '@chirality/runner'

/**
 * Fetches a program from the distribution's package of the same name, without root: `apt-get download` verifies it by
 * the signed metadata, `dpkg-deb` unpacks it. If the version does not suit, the next suite is tried, also with Debian's
 * own key.
 */
export async function fetchProgram(
  { name, target }: { name: string; target: string },
  suits: (program: string) => Promise<boolean>,
): Promise<void> {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb'))
    throw new Error('It can be fetched only on Debian and Ubuntu.')
  const folder = await mkdtemp(join(tmpdir(), 'chirality-apt-'))
  try {
    for (const source of await packageSources()) {
      const options = await aptOptions(folder, source)
      const isThere = await runTool('/usr/bin/apt-get', [...options, 'update'], folder)
        .then(() => runTool('/usr/bin/apt-get', [...options, 'download', name], folder))
        .then(
          () => true,
          () => false,
        )
      const deb = isThere ? (await readdir(folder)).find(file => file.endsWith('.deb')) : undefined
      if (deb === undefined) continue
      // Another suite may have the program at another place.
      await rm(join(folder, 'out'), { recursive: true, force: true })
      await runTool('/usr/bin/dpkg-deb', ['-x', join(folder, deb), join(folder, 'out')])
      await rm(join(folder, deb))
      const program = PLACES.map(place => join(folder, 'out', place, name)).find(isProgram)
      if (program === undefined || !(await suits(program))) continue
      await keepProgram(await readFile(program), target)
      return
    }
    throw new Error(`The distribution has no ${name} that is new enough.`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const PLACES = ['usr/sbin', 'usr/bin', 'usr/libexec/docker/cli-plugins']

interface PackageSource {
  uri: string
  suite: string
  component: string
  keyring: string
}

/** Package sources to try, the machine's own suite first, at the address that the machine is set up with. */
async function packageSources(): Promise<PackageSource[]> {
  const format = '$(REPO_URI)|$(RELEASE)|$(ORIGIN)'
  const listed = await runTool('/usr/bin/apt-get', [
    'indextargets',
    '--format',
    format,
    'Identifier: Packages',
  ])
  const rows = listed.split('\n').map(line => line.split('|'))
  const keyrings = '/usr/share/keyrings'
  const debian = rows.find(([uri = '', , origin]) => origin === 'Debian' && !uri.includes('security'))
  const ubuntu = rows.find(([, , origin]) => origin === 'Ubuntu')
  if (debian !== undefined) {
    const [uri = '', suite = ''] = debian
    const keyring = `${keyrings}/debian-archive-keyring.gpg`
    return [...new Set([suite, 'trixie'])].map(one => ({ uri, suite: one, component: 'main', keyring }))
  }
  if (ubuntu === undefined) throw new Error('apt names no source of Debian or Ubuntu.')
  const [uri = '', suite = ''] = ubuntu
  return [{ uri, suite, component: 'universe', keyring: `${keyrings}/ubuntu-archive-keyring.gpg` }]
}

async function aptOptions(folder: string, source: PackageSource): Promise<string[]> {
  const state = join(folder, `state-${source.suite}`)
  await mkdir(join(state, 'lists', 'partial'), { recursive: true })
  await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true })
  await writeFile(join(state, 'status'), '')
  const list = join(folder, `${source.suite}.sources`)
  await writeFile(
    list,
    `Types: deb\nURIs: ${source.uri}\nSuites: ${source.suite}\nComponents: ${source.component}\nSigned-By: ${source.keyring}\n`,
  )
  return [
    ...[`Dir::State=${state}`, `Dir::State::status=${join(state, 'status')}`],
    ...[`Dir::Cache=${join(folder, 'cache')}`, `Dir::Etc::sourcelist=${list}`],
    ...['Dir::Etc::sourceparts=/dev/null', 'APT::Sandbox::User=', 'Acquire::Languages=none'],
  ].flatMap(option => ['-o', option])
}

/** Runs a program and resolves with all that it printed. */
export async function runTool(program: string, args: string[], cwd?: string): Promise<string> {
  const env = { ...buildChildEnv({ source: processEnv() }).env }
  const end = await runHelper(program, args, {
    env,
    cwd,
    timeoutMs: RUN_MS,
  })
  const { code, signal, stdout, stderr, error } = end
  if (error !== undefined) throw error
  if (code === 0) return `${stdout}${stderr}`
  const how = signal === null ? `exit code ${code}` : `ended by ${signal}`
  throw new Error(`Command failed: ${[program, ...args].join(' ')}\n${stderr || how}`)
}

const RUN_MS = 180_000

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Stores the program atomically, readable and executable for its owner only. */
export async function keepProgram(bytes: Uint8Array, target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true, mode: 0o700 })
  await writeFileAtomic(target, bytes, { mode: 0o700 })
}
