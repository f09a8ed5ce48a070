import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { initRepository } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { CAGE_TRIES } from '../src/index.ts'
import { expectRefusal, here, keep, startKeeper, usePlace } from './support.ts'

const { at, plan } = usePlace()

test('a shell in a cage tries eleven ways out, and none works', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  writeFileSync(at('data', 'secret'), 'not for agents')
  const script = `cat ${at('data', 'secret')}; echo "home: $(ls -A ${at('home')})"; touch made; ls /proc | grep -c '^[0-9]'`
  const { answer, stdout, code } = await keep(await plan({ command: '/bin/sh', args: ['-c', script] }))
  expect(answer).toEqual({ kind: 'ready', tries: CAGE_TRIES.map(name => ({ name, held: true })) })
  expect(stdout).toMatch(/^home: \n\d\n$/)
  expect(code).toBe(0)
  expect(readdirSync(at('project'))).toEqual(['made'])
})

test('an agent is not started in a cage that holds nothing, and each attempt is named', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
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
  if (here.refusal !== undefined) return expectRefusal(plan())
  const { code } = await keep(await plan({ command: '/bin/sh', args: ['-c', 'exit 7'] }))
  expect(code).toBe(7)
})

test('the keeper and everything in the cage end with one signal, also a daemon that left its session', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  const script = 'setsid sh -c "while :; do sleep 1; touch alive; done" & echo up; while :; do sleep 1; done'
  const cage = await startKeeper(await plan({ command: '/bin/sh', args: ['-c', script] }))
  await once(cage.stdout, 'data')
  cage.child.kill('SIGKILL')
  await once(cage.child, 'close')
  const inCage = () => readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && cwdOf(pid) === at('project'))
  while (inCage().length > 0) await new Promise(resolve => setImmediate(resolve))
})

test('a work folder above the home folder is refused', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  await expect(plan({ cwd: at() })).rejects.toMatchObject({ code: 'folder-unsuitable' })
})

test('a repository around the home folder is not mounted, and that around the work folder only to be read', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  initRepository(at())
  const outer = await plan()
  expect(outer.mounts.map(({ at: place }) => place)).not.toContain(at())
  rmSync(at('cage'), { recursive: true })
  mkdirSync(at('cage'))
  initRepository(at('other'))
  mkdirSync(at('other', 'part'))
  const script =
    'touch here && ! touch ../there && git add here && git -c user.name=a -c user.email=a@b commit -qm one && echo done'
  const { stdout } = await keep(
    await plan({ command: '/bin/sh', args: ['-c', script], cwd: at('other', 'part') }),
  )
  expect(stdout).toBe('done\n')
})

test('an agent commits in its worktree, and touches no other', async () => {
  if (here.refusal !== undefined) return expectRefusal(plan())
  const main = initRepository(at('other'))
  main.write('one', '1')
  main.run('add', '.')
  main.run('commit', '-qm', 'one')
  for (const name of ['mine', 'yours']) main.run('worktree', 'add', '-q', '-b', name, at('project', name))
  const yours = at('other', '.git', 'worktrees', 'yours', 'HEAD')
  const script = `echo 2 > two && git add two && git -c user.name=a -c user.email=a@b commit -qm two && ! echo x > ${yours} && git log --oneline | wc -l`
  const { stdout } = await keep(
    await plan({ command: '/bin/sh', args: ['-c', script], cwd: at('project', 'mine') }),
  )
  expect(stdout.trim()).toBe('2')
  expect(main.run('log', '--format=%s', 'mine')).toBe('two\none\n')
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

function cwdOf(pid: string): string {
  try {
    return realpathSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
