import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

test('a run in a worktree leaves the project as it was; the worktree is listed, restored and pruned, and nothing is lost', async () => {
  const world = await createWorld({
    answers: [{ tool: 'Bash', input: { command: 'echo made > made.txt' } }, 'Made.'],
  })
  const repository = initRepository(world.project)
  repository.write('README.md', 'A project.\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'First')
  const refused = await world.run(['run', 'Make it', '--worktree', '--base', 'nowhere'])
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('nowhere')
  expect(await world.run(['run', 'Make it', '--base', 'main'])).toMatchObject({ code: 2 })

  mkdirSync(path.join(world.project, '.chirality'), { recursive: true })
  writeFileSync(path.join(world.project, '.chirality/workspace.yaml'), 'command: echo up > set-up.txt\n')
  const ran = await world.run([
    ...['run', 'Make it', '--worktree', '--allow-setup', '--allow', 'Bash', '--json'],
  ])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  const session = jsonLines(ran.stdout)[0]?.sessionId ?? ''
  expect(existsSync(path.join(world.project, 'made.txt'))).toBe(false)
  const again = await world.run(['run', 'Again', '--session', session, '--worktree'])
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('--worktree is for a new session') })

  const listed = async () => {
    const { stdout } = await world.run(['worktrees', 'list', '--json'])
    return (jsonLines(stdout) as unknown as Record<string, string>[])[0] ?? {}
  }
  const first = await listed()
  expect(first).toMatchObject({ condition: 'ready', sessionId: session, project: world.project })
  const { id = '', folder = '', branch = '' } = first
  expect(readFileSync(path.join(folder, 'made.txt'), 'utf8')).toBe('made\n')
  expect(readFileSync(path.join(folder, 'set-up.txt'), 'utf8')).toBe('up\n')
  const other = await world.run(['run', 'Another', '--worktree', '--json'])
  const second = jsonLines(other.stdout)[0]?.sessionId ?? ''
  for (const [id, words] of [
    [session, 'one'],
    [second, 'two'],
  ] as const)
    recordTurn(world.project, id, `${words}\n`)
  const warned = await world.run(['worktrees', 'list'])
  expect(warned.stdout).toContain('  also changed by "Another": README.md:1 (would not merge)\n')
  expect(warned.stdout).toContain('  also changed by "Make it": README.md:1 (would not merge)\n')
  await world.run(['sessions', 'delete', second, '--yes'])
  await world.run(['worktrees', 'prune'])
  const nothing = await world.run(['worktrees', 'prune'])
  expect(nothing).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was removed') })
  expect(existsSync(folder)).toBe(true)

  const pruned = await world.run(['worktrees', 'prune', id])
  expect(pruned).toMatchObject({ code: 0, stdout: expect.stringContaining('Kept: 2 changed files') })
  expect(existsSync(folder)).toBe(false)
  expect(await listed()).toMatchObject({ condition: 'removed' })
  const missing = await world.run(['run', 'Go on', '--session', session])
  expect(missing.stderr).toContain(`chirality worktrees restore ${id}`)
  const restored = await world.run(['worktrees', 'restore', id])
  expect(restored).toMatchObject({ code: 0, stdout: `${branch} is in ${folder} again.\n` })
  expect(readFileSync(path.join(folder, 'made.txt'), 'utf8')).toBe('made\n')

  // Removed by hand, it is noticed.
  rmSync(folder, { recursive: true })
  expect((await world.run(['worktrees', 'list'])).stdout).toContain('its folder is gone')
  expect(await world.run(['worktrees', 'restore', 'none'])).toMatchObject({ code: 1 })
  expect(await world.run(['worktrees', 'prune', 'none'])).toMatchObject({ code: 2 })

  // Without its repository there is nothing to keep or to restore: it can only be forgotten.
  expect(await world.run(['worktrees', 'forget', id])).toMatchObject({ code: 1 })
  rmSync(path.join(world.project, '.git'), { recursive: true })
  const orphaned = await world.run(['worktrees', 'list', '--all'])
  expect(orphaned.stdout).toContain(`is gone: chirality worktrees forget ${id}`)
  expect(await world.run(['worktrees', 'forget', id])).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining('is forgotten.') },
  })
  expect((await world.run(['worktrees', 'list', '--all'])).stdout).not.toContain(id)
})

/** As a server records a turn that changed the README. */
function recordTurn(project: string, sessionId: string, text: string): void {
  const git = (args: string[], input = '') =>
    execFileSync('git', args, { cwd: project, input, encoding: 'utf8' }).trim()
  const blob = git(['hash-object', '-w', '--stdin'], text)
  const after = git(['mktree'], `100644 blob ${blob}\tREADME.md\n`)
  const before = git(['rev-parse', 'HEAD^{tree}'])
  const folder = path.join(project, '.chirality', 'state', 'snapshots')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const turn = { before, beforeAt: 1, after, afterAt: 2 }
  writeFileSync(path.join(folder, `${sessionId}.json`), JSON.stringify({ turn }), { mode: 0o600 })
}
