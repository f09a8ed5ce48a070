import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runProgram } from '../src/git/run-program.ts'
import {
  endPrograms,
  findRepository,
  forgeOf,
  type GitRepository,
  openPullRequest,
  planPush,
  pushBranch,
} from '../src/index.ts'

let folder: string
let repository: Repository
let opened: GitRepository
let bare: string
const branch = 'chirality/work'

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-push-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  bare = path.join(folder, 'bare.git')
  execFileSync('git', ['init', '-q', '--bare', bare])
  repository = initRepository(path.join(folder, 'shop'))
  repository.write('a.txt', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.run('branch', '-M', 'main')
  repository.run('remote', 'add', 'origin', bare)
  repository.run('push', '-q', 'origin', 'main')
  repository.run('checkout', '-qb', branch)
  commit('Second thing')
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  opened = found
})

function commit(message: string): string {
  repository.write('a.txt', `${message}\n`)
  repository.run('commit', '-qam', message)
  return repository.run('rev-parse', 'HEAD').trim()
}

const refsOf = (place: string) =>
  execFileSync('git', ['-C', place, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads'], {
    encoding: 'utf8',
  })

/** A program that leaves a file if it is run. */
function trap(name: string): { program: string; wasRun: () => boolean } {
  const program = path.join(folder, name)
  writeFileSync(program, `#!/bin/sh\ntouch '${program}.run'\n`)
  chmodSync(program, 0o755)
  return { program, wasRun: () => existsSync(`${program}.run`) }
}

describe('a push', () => {
  test('says first what it would do and sends nothing, then pushes that commit and no other', async () => {
    const before = refsOf(bare)
    const plan = await planPush(opened, { branch })
    expect(plan).toMatchObject({
      remotes: ['origin'],
      remote: 'origin',
      url: bare,
      branch,
      kind: 'new',
      total: 1,
      commits: [{ subject: 'Second thing' }],
    })
    expect(plan.command.slice(0, 2)).toEqual(['git', 'push'])
    expect(refsOf(bare)).toBe(before)
    const late = commit('Not shown')
    await expect(pushBranch(opened, { branch, url: bare, commit: plan.commit })).rejects.toThrow(
      'Look at it again',
    )
    expect(refsOf(bare)).toBe(before)
    expect(await pushBranch(opened, { branch, url: bare, commit: late })).toMatchObject({
      kind: 'new',
      commit: late,
    })
    expect(refsOf(bare)).toContain(`refs/heads/${branch} ${late}`)
    expect(repository.run('rev-parse', '--abbrev-ref', `${branch}@{upstream}`).trim()).toBe(
      `origin/${branch}`,
    )
    expect(await planPush(opened, { branch })).toMatchObject({ kind: 'up-to-date', commits: [], total: 0 })
    commit('More')
    expect(await planPush(opened, { branch })).toMatchObject({ kind: 'forward', total: 1 })
  })

  test('pushes the commit that was shown though the branch moves meanwhile, and not to another address', async () => {
    const { url, commit: shown, command } = await planPush(opened, { branch })
    expect(command.at(-1)).toBe(`${shown}:refs/heads/${branch}`)
    // The branch gets a commit when git push begins.
    const moved = commit('Not shown')
    repository.run('update-ref', `refs/heads/${branch}`, shown)
    const programs = path.join(folder, 'programs')
    mkdirSync(programs)
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
    const move = `'${real}' -C '${repository.root}' update-ref 'refs/heads/${branch}' ${moved}`
    const git = `#!/bin/sh\ncase " $* " in *' push --porcelain '*) ${move};; esac\nexec '${real}' "$@"\n`
    writeFileSync(path.join(programs, 'git'), git, { mode: 0o755 })
    vi.stubEnv('PATH', `${programs}:${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const before = refsOf(bare)
    const elsewhere = pushBranch(opened, { branch, commit: shown, url: `${bare}-other` })
    await expect(elsewhere).rejects.toThrow('The address of the remote changed. Look at it again.')
    expect(refsOf(bare)).toBe(before)
    await pushBranch(opened, { branch, commit: shown, url })
    expect(repository.run('rev-parse', branch).trim()).toBe(moved)
    expect(refsOf(bare)).toContain(`refs/heads/${branch} ${shown}`)
  })

  test('without an answer of the remote says that its result is not known', async () => {
    const { url, commit: shown } = await planPush(opened, { branch })
    const hook = path.join(repository.root, '.git/hooks/pre-push')
    mkdirSync(path.dirname(hook), { recursive: true })
    writeFileSync(hook, '#!/bin/sh\nkill -9 $PPID\n', { mode: 0o755 })
    await expect(pushBranch(opened, { branch, commit: shown, url, hooks: true })).rejects.toThrow(
      'The push may have succeeded',
    )
  })

  test('is refused with the reason: no remote, an unknown one, several, no commit, and a remote that moved on', async () => {
    const plan = await planPush(opened, { branch })
    await pushBranch(opened, { branch, url: bare, commit: plan.commit })
    // Somebody else pushes meanwhile.
    const other = path.join(folder, 'other')
    execFileSync('git', ['clone', '-q', '-b', branch, bare, other])
    const identity = ['-c', 'user.name=O', '-c', 'user.email=o@example']
    execFileSync('git', ['-C', other, ...identity, 'commit', '-q', '--allow-empty', '-m', 'Theirs'])
    execFileSync('git', ['-C', other, 'push', '-q'])
    const theirs = refsOf(bare)
    const mine = commit('Mine')
    const moved = 'origin has commits on chirality/work that are not here'
    await expect(planPush(opened, { branch })).rejects.toThrow(moved)
    await expect(pushBranch(opened, { branch, url: bare, commit: mine })).rejects.toThrow(moved)
    expect(refsOf(bare)).toBe(theirs)
    await expect(planPush(opened, { branch: 'none' })).rejects.toThrow('The branch none has no commit')
    await expect(planPush(opened, { branch, remote: 'no' })).rejects.toThrow('There is no remote no')
    repository.run('remote', 'rename', 'origin', 'one')
    repository.run('config', '--unset', `branch.${branch}.remote`)
    repository.run('remote', 'add', 'two', bare)
    await expect(planPush(opened, { branch })).rejects.toThrow('Choose one: one, two')
    for (const name of ['one', 'two']) repository.run('remote', 'remove', name)
    await expect(planPush(opened, { branch })).rejects.toThrow('no remote to push to')
  })

  test('runs no hook of either repository unless they are allowed', async () => {
    const { program, wasRun } = trap('hook')
    const hook = `#!/bin/sh\nexec '${program}'\n`
    for (const place of [
      path.join(repository.root, '.git/hooks/pre-push'),
      path.join(bare, 'hooks/update'),
    ]) {
      mkdirSync(path.dirname(place), { recursive: true })
      writeFileSync(place, hook, { mode: 0o755 })
    }
    // With objects of another repository, git runs a command of the config to list its refs.
    writeFileSync(path.join(bare, 'objects/info/alternates'), `${repository.root}/.git/objects\n`)
    execFileSync('git', ['-C', bare, 'config', 'core.alternateRefsCommand', program])
    const plan = await planPush(opened, { branch })
    expect(plan.hooks).toEqual(['pre-push'])
    await pushBranch(opened, { branch, url: bare, commit: plan.commit })
    expect(wasRun()).toBe(false)
    await pushBranch(opened, { branch, url: bare, commit: commit('More'), hooks: true })
    expect(wasRun()).toBe(true)
  })

  test('is refused where the config of the repository says how to connect, and runs nothing of it', async () => {
    const { program, wasRun } = trap('program')
    const settings = [
      ...['core.sshCommand', 'core.askPass', 'credential.helper', 'credential.http://127.0.0.1.helper'],
      ...['remote.origin.receivepack', 'remote.origin.vcs', 'http.proxy', 'url.ext::sh.insteadOf'],
      ...['remote.origin.mirror=true', 'remote.origin.proxy=http://127.0.0.1:1', 'url./tmp.pushInsteadOf=/'],
      ...['http.sslVerify=false', 'http.curloptResolve=github.com:443:127.0.0.1'],
    ]
    for (const setting of settings) {
      const [name = '', value = program] = setting.split('=')
      repository.run('config', name, value)
      await expect(planPush(opened, { branch }), setting).rejects.toThrow(
        /sets how to connect \(.*only your own config may/,
      )
      repository.run('config', '--unset', name)
    }
    expect(wasRun()).toBe(false)
    for (const url of ['ext::sh -c touch% x', 'git://127.0.0.1/x', 'foo::bar', '-x']) {
      repository.run('config', 'remote.origin.url', url)
      await expect(planPush(opened, { branch }), url).rejects.toThrow('Chirality does not push to')
    }
  })

  test('asks the credential helper of the user, shows no password, and never waits for one', async () => {
    const asked: (string | undefined)[] = []
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization)
      response.writeHead(request.headers.authorization ? 404 : 401, { 'www-authenticate': 'Basic realm="x"' })
      response.end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    repository.run('remote', 'set-url', 'origin', `http://someone:secret@127.0.0.1:${port}/shop.git`)
    const failed = await planPush(opened, { branch }).catch((error: Error) => error)
    expect(String(failed)).not.toContain('secret')
    repository.run('remote', 'set-url', 'origin', `http://127.0.0.1:${port}/shop.git`)
    await expect(planPush(opened, { branch })).rejects.toThrow('Chirality asks for no password')
    const home = path.join(folder, 'home')
    mkdirSync(home)
    const helper = '!f() { echo username=me; echo password=word; }; f'
    vi.stubEnv('HOME', home)
    vi.stubEnv('XDG_CONFIG_HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    execFileSync('git', ['config', '--file', path.join(home, '.gitconfig'), 'credential.helper', helper])
    await expect(planPush(opened, { branch })).rejects.toThrow('git push: ')
    expect(asked.at(-1)).toBe(`Basic ${Buffer.from('me:word').toString('base64')}`)
  })
})

describe('a program', () => {
  const options = { cwd: '/', env: { PATH: process.env.PATH ?? '' }, timeoutMs: 60_000 }

  test('is over when it ends, though something that it started holds its output', {
    timeout: 30_000,
  }, async () => {
    const end = await runProgram('sh', ['-c', 'setsid sleep 120 & echo $!; exit 3'], options)
    process.kill(Number(end.stdout), 'SIGKILL')
    expect(end).toMatchObject({ code: 3, stderr: '' })
  })

  test('ends with the server', { timeout: 30_000 }, async () => {
    const end = runProgram('sh', ['-c', 'sleep 120'], options)
    endPrograms()
    expect(await end).toMatchObject({ code: 1 })
  })
})

describe('a pull request', () => {
  // The arguments are those of the real gh: `gh pr create --help` of 2.23.
  test('is opened by the gh of the user, outside of the repository, with the text on its input', async () => {
    const programs = path.join(folder, 'programs')
    mkdirSync(programs)
    const record = path.join(folder, 'record')
    const gh = `#!/bin/sh\n{ pwd; printf '%s\\n' "$@"; cat; } > '${record}'\necho "$GH_ENTERPRISE_TOKEN" > '${record}.token'\necho https://github.com/o/shop/pull/7\n`
    const use = (text: string) => {
      writeFileSync(path.join(programs, 'gh'), text)
      chmodSync(path.join(programs, 'gh'), 0o755)
    }
    vi.stubEnv('PATH', path.join(folder, 'nothing'))
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await forgeOf('git@github.com:o/shop.git')).toEqual({
      reason: expect.stringContaining('cli.github.com'),
    })
    vi.stubEnv('PATH', `${programs}:/usr/bin:/bin`)
    use(gh)
    const forge = await forgeOf('git@github.com:o/shop.git')
    expect(forge).toEqual({ program: 'gh', host: 'github.com', repository: 'o/shop' })
    for (const url of ['https://x:y@github.com/o/shop', 'ssh://git@github.com:22/o/shop.git/'])
      expect(await forgeOf(url)).toEqual(forge)
    for (const url of [
      'https://git.example/o/shop',
      bare,
      'https://github.com/o',
      'https://github.com/o/group/shop',
      'https://gitlab.com/o/../shop',
      'https://github.com/../../x/y',
    ])
      expect(await forgeOf(url)).toEqual({ reason: expect.stringContaining('Only for GitHub') })
    const shop = { program: 'gh', host: 'github.com', repository: 'o/shop' } as const
    const request = {
      forge: shop,
      into: shop,
      branch,
      base: 'main',
      title: '--title of $(it)',
      body: 'Body\n',
    }
    expect(await openPullRequest(request)).toEqual({
      kind: 'opened',
      url: 'https://github.com/o/shop/pull/7',
    })
    const [cwd = '', ...rest] = readFileSync(record, 'utf8').split('\n')
    expect(cwd.startsWith(repository.root)).toBe(false)
    expect(rest).toEqual([
      ...['pr', 'create', '--repo', 'github.com/o/shop', '--head', branch, '--base', 'main'],
      ...['--title', '--title of $(it)', '--body-file', '-', 'Body', ''],
    ])
    // The token of the user's own GitHub Enterprise, and a host that only looks like one.
    vi.stubEnv('GH_ENTERPRISE_TOKEN', 'secret')
    vi.stubEnv('GH_HOST', 'github.own.example')
    for (const [host, token] of [
      ['github.evil.example', ''],
      ['github.own.example', 'secret'],
    ] as const) {
      const there = { ...shop, host }
      await openPullRequest({ ...request, forge: there, into: there })
      expect(readFileSync(`${record}.token`, 'utf8').trim(), host).toBe(token)
    }
    // From a fork into the repository that it came from.
    await openPullRequest({ ...request, forge: { ...shop, repository: 'me/shop' } })
    const fork = readFileSync(record, 'utf8').split('\n').slice(1, 7)
    expect(fork).toEqual(['pr', 'create', '--repo', 'github.com/o/shop', '--head', `me:${branch}`])
    use('#!/bin/sh\necho "To get started with GitHub CLI, please run:  gh auth login" >&2\nexit 4\n')
    expect(await openPullRequest(request)).toEqual({
      kind: 'failed',
      reason: expect.stringContaining('gh auth login'),
    })
  })

  // The arguments and answers are those of the real glab 1.53 with an API on this machine.
  test('is a merge request on GitLab, by the glab of the user, also from a fork; its token goes to no other host', async () => {
    const programs = path.join(folder, 'programs')
    mkdirSync(programs)
    const record = path.join(folder, 'record')
    const glab = path.join(programs, 'glab')
    const answers = `case "$*" in
      *merge_requests*) cat > '${record}.input'; echo '{"web_url":"https://gitlab.com/o/group/shop/-/merge_requests/7"}';;
      *) echo '{"id":2,"default_branch":"trunk"}';; esac`
    const use = (script: string) => {
      const note = `{ pwd; echo "token=$GITLAB_TOKEN"; printf '%s\\n' "$@"; } >> '${record}'`
      writeFileSync(glab, `#!/bin/sh\n${note}\n${script}\n`, { mode: 0o755 })
    }
    vi.stubEnv('PATH', `${programs}:/usr/bin:/bin`)
    vi.stubEnv('GITLAB_TOKEN', 'secret')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await forgeOf('git@gitlab.com:o/group/shop.git')).toEqual({
      reason: expect.stringContaining('The program glab is not installed'),
    })
    use(answers)
    const shop = { program: 'glab', host: 'gitlab.com', repository: 'o/group/shop' } as const
    expect(await forgeOf('git@gitlab.com:o/group/shop.git')).toEqual(shop)
    const fork = { ...shop, repository: 'me/shop' }
    const request = {
      forge: fork,
      into: shop,
      branch,
      base: null,
      title: '--title of $(it)',
      body: 'Body\n',
      isDraft: true,
    }
    expect(await openPullRequest(request)).toEqual({
      kind: 'opened',
      url: 'https://gitlab.com/o/group/shop/-/merge_requests/7',
    })
    const lines = readFileSync(record, 'utf8').trim().split('\n')
    expect(lines[0]?.startsWith(repository.root)).toBe(false)
    expect(lines.filter(line => !path.isAbsolute(line))).toEqual([
      ...['token=secret', 'api', '--hostname', 'gitlab.com', 'projects/o%2Fgroup%2Fshop'],
      ...['token=secret', 'api', '--hostname', 'gitlab.com', '--method', 'POST'],
      ...['projects/me%2Fshop/merge_requests', '--header', 'Content-Type: application/json', '--input', '-'],
    ])
    expect(JSON.parse(readFileSync(`${record}.input`, 'utf8'))).toEqual({
      source_branch: branch,
      target_branch: 'trunk',
      target_project_id: 2,
      description: 'Body\n',
      title: 'Draft: --title of $(it)',
    })
    // A host that only looks like one, and the user's own.
    for (const [host, own, token] of [
      ['gitlab.evil.example', '', ''],
      ['gitlab.com', 'https://git.own.example/', ''],
      ['git.own.example', 'https://git.own.example/', 'secret'],
    ] as const) {
      rmSync(record)
      vi.stubEnv('GITLAB_HOST', own)
      const found = await forgeOf(`https://${host}/o/shop`)
      expect(found).toEqual({ program: 'glab', host, repository: 'o/shop' })
      const there = { ...shop, host }
      await openPullRequest({ ...request, forge: there, into: there })
      expect(readFileSync(record, 'utf8').split('\n')[1], host).toBe(`token=${token}`)
    }
    use('echo "glab: 401 Unauthorized (HTTP 401)" >&2\nexit 1')
    expect(await openPullRequest(request)).toEqual({
      kind: 'failed',
      reason: expect.stringContaining('401 Unauthorized'),
    })
  })
})
