import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { lockProject, type SearchHit, type StoredSession, type UsageReport } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { stored, storeOf, turn } from './support/stored.ts'
import { createWorld } from './support/world.ts'

function usage(message: string) {
  return { code: 2, signal: null, stdout: '', stderr: `chirality: ${message}\nSee \`chirality --help\`.\n` }
}

describe('sessions list', () => {
  test('shows the sessions of the project, newest first, as lines and as JSON', async () => {
    const world = await createWorld()
    const first = await stored(world, 'First')
    const second = await stored(world, 'Second\u001b[2J')
    const { code, stdout, stderr } = await world.run(['sessions', 'list'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(
        new RegExp(`^${second.id}  claude-code +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d \\$0.2500  Second$`),
      ),
      expect.stringMatching(new RegExp(`^${first.id}  .*  First$`)),
      '',
    ])
    const json = await world.run(['sessions', 'list', '--json', '--limit', '1'])
    expect(jsonLines<StoredSession>(json.stdout)).toMatchObject([{ id: second.id, costUsd: 0.25 }])
    const cut = await world.run(['sessions', 'list', '--limit', '1'])
    expect(cut.stderr).toBe('chirality: There are more; --limit shows them.\n')
  })

  test('a session whose last turn crashed, failed or met a limit does not look like one that is done', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'The heron')
    for (const [lastTurn, word] of [
      ['crashed', 'crashed'],
      ['failed', 'failed'],
      ['budget', 'limit reached'],
    ] as const) {
      await storeOf(world).update(id, { lastTurn })
      expect((await world.run(['sessions', 'list'])).stdout).toMatch(new RegExp(`  ${word} The heron\n$`))
    }
  })

  test('--all shows those of every project, with the project', async () => {
    const world = await createWorld()
    const other = path.join(world.home, 'other')
    mkdirSync(other)
    await stored(world, 'Here')
    await stored({ ...world, project: other }, 'There')
    expect((await world.run(['sessions', 'list'])).stdout).not.toContain('There')
    expect((await world.run(['sessions', 'list', '--all'])).stdout).toMatch(/There {2}.*\/other\n.*Here {2}/)
    expect((await world.run(['sessions', 'list', '--project', other])).stdout).toContain('There')
  })

  test('an empty list is reported', async () => {
    const { run, project } = await createWorld()
    expect(await run(['sessions', 'list'])).toMatchObject({
      ...{ code: 0, stdout: '', stderr: `chirality: No sessions in ${project} yet.\n` },
    })
  })
})

describe('sessions show', () => {
  test('says what is known, what was said last, and how to go on', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'The heron')
    const { code, stdout } = await world.run(['sessions', 'show', id.slice(0, 8)])
    expect(code).toBe(0)
    expect(stdout).toContain(`The heron\nsession ${id}\nproject ${world.project}\nagent   claude-code\n`)
    expect(stdout).toContain('cost    $0.2500\n')
    expect(stdout).toMatch(/\n> Where is the heron\?\nIn the lake\.\n\nContinue with: /)
    expect(stdout).toContain(`chirality run --session ${id} "…"\n`)
    const elsewhere = await world.run(['sessions', 'show', id], { cwd: '/' })
    expect(elsewhere.stdout).toContain(`--session ${id} --project ${world.project} "…"`)
    const json = await world.run(['sessions', 'show', id, '--json'])
    expect(jsonLines<StoredSession>(json.stdout)).toMatchObject([{ id, title: 'The heron' }])
  })

  test('an id that is unknown ends with 1, the beginning of several with 2', async () => {
    const world = await createWorld()
    expect(await world.run(['sessions', 'show', 'nobody'])).toEqual({
      ...{ code: 1, signal: null, stdout: '' },
      stderr: 'chirality: There is no session "nobody". See `chirality sessions list --all`.\n',
    })
    const store = storeOf(world)
    const base = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
    for (const id of ['same-1', 'same-2']) {
      const session = { ...base, id, projectRoot: world.project, persona: null, mode: 'direct' as const }
      await store.import({ session: { ...session, claudeSessionId: `native-${id}` }, envelopes: [] })
    }
    const { code, stderr } = await world.run(['sessions', 'show', 'same'])
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the beginning of 2 ids: same-'),
    })
    expect(await world.run(['sessions', 'show', 'native-same-2', '--json'])).toMatchObject({ code: 0 })
  })
})

test('sessions search finds words in this project or in all, and shows them', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'Birds')
  const { code, stdout } = await world.run(['sessions', 'search', 'the', 'LAKE'])
  expect(code).toBe(0)
  expect(stdout).toBe(`${id}  #2 2026-01-01 00:00 assistant  Birds\n  In the lake.\n`)
  const json = await world.run(['sessions', 'search', '"in the"', '--all', '--json'], { cwd: '/' })
  expect(jsonLines<SearchHit>(json.stdout)).toMatchObject([{ sessionId: id, seq: 2, ranges: [[0, 6]] }])
  const nothing = await world.run(['sessions', 'search', 'duck'])
  expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: 'chirality: Nothing found.\n' })
  expect(await world.run(['sessions', 'search', ' '])).toMatchObject({
    ...{ code: 2, stderr: 'chirality: The query is empty. Give a word, or a phrase in quotes.\n' },
  })
})

test('sessions fork makes another session, up to an event', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'Birds')
  const { code, stdout } = await world.run([
    'sessions',
    'fork',
    id,
    '--at',
    '1',
    '--title',
    'Ducks',
    '--json',
  ])
  expect(code).toBe(0)
  expect(jsonLines<StoredSession>(stdout)).toMatchObject([
    { title: 'Ducks', lastSeq: 3, forkedFrom: { sessionId: id, seq: 1, history: 'account' } },
  ])
  const told = await world.run(['sessions', 'fork', id, '--at', '1'])
  expect(told.stdout).toContain(
    '\nIts agent begins a new conversation, with a written account of the history',
  )
  expect(await world.run(['sessions', 'fork', id, '--at', '9'])).toEqual(
    usage('--at is 9, but the session has 3 events.'),
  )
})

describe('sessions export', () => {
  test('writes Markdown to stdout, and by the ending of the file what that says', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'Birds', turn('My key is hunter-two-three', 'Noted.'))
    const env = { BIRD_TOKEN: 'hunter-two-three' }
    const markdown = await world.run(['sessions', 'export', id], { env })
    expect(markdown).toMatchObject({ code: 0, stderr: '' })
    expect(markdown.stdout).toMatch(/^# Birds\n/)
    expect(markdown.stdout).toContain('> My key is [redacted]')
    for (const [name, start] of [
      ['a.html', '<!doctype html>'],
      ['a.json', '{"session":'],
    ] as const) {
      const { code, stdout } = await world.run(['sessions', 'export', id, '--output', name], { env })
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
      const text = readFileSync(path.join(world.project, name), 'utf8')
      expect(text.startsWith(start)).toBe(true)
      expect(text).not.toContain('hunter')
    }
    expect(await world.run(['sessions', 'export', id, '--output', 'a.html'])).toEqual(
      usage('a.html exists. Remove it, or name another with --output.'),
    )
    expect(await world.run(['sessions', 'export', id, '--format', 'pdf'])).toEqual(
      usage('--format must be one of md, json, html, not "pdf".'),
    )
  })

  test('an exported session can be imported, here and elsewhere', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'Birds')
    await world.run(['sessions', 'export', id, '--output', 'a.json'])
    const copy = await world.run(['sessions', 'import', '--file', 'a.json', '--json'])
    expect(jsonLines<StoredSession>(copy.stdout)).toMatchObject([
      { title: 'Birds', forkedFrom: { sessionId: id } },
    ])
    await storeOf(world).delete(id)
    const input = readFileSync(path.join(world.project, 'a.json'), 'utf8')
    const { code, stdout } = await world.run(['sessions', 'import', '--file', '-'], { input })
    expect(code).toBe(0)
    expect(stdout).toContain(
      `In the lake.\n\nImported as ${id}.\nContinue with: chirality run --session ${id} "…"\n`,
    )
  })

  test('a file that is no export is refused with 1', async () => {
    const world = await createWorld()
    writeFileSync(path.join(world.project, 'x.json'), '{}')
    const { code, stderr } = await world.run(['sessions', 'import', '--file', 'x.json'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'chirality: This file is not an export of a session. Make one with: chirality sessions export ID --format json\n',
    })
    expect(await world.run(['sessions', 'import', '--file', 'none.json'])).toEqual(
      usage('none.json cannot be read (ENOENT). Name the file of an export.'),
    )
  })
})

describe('sessions delete', () => {
  test('removes everything, but only with --yes', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'Birds')
    expect(await world.run(['sessions', 'delete', id])).toEqual(
      usage('Deleting cannot be undone. Say --yes to do it.'),
    )
    const { code, stdout } = await world.run(['sessions', 'delete', id, '--yes'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Deleted ${id} (Birds).\n` })
    expect(existsSync(path.join(world.project, '.chirality/events', `${id}.ndjson`))).toBe(false)
    expect((await world.run(['sessions', 'list', '--json'])).stdout).toBe('')
  })

  test('leaves a project alone that a server has, and names the server', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'Birds')
    const lock = await lockProject(world.project, { address: 'http://127.0.0.1:4096' })
    const { code, stderr } = await world.run(['sessions', 'delete', id, '--yes'])
    await lock.release()
    expect(code).toBe(1)
    expect(stderr).toContain(`${world.project} is in use by the server at http://127.0.0.1:4096`)
    expect(await storeOf(world).get(id)).toBeDefined()
  })
})

test.each([
  [
    ['sessions'],
    'Say what to do: sessions knows list, show, search, fork, export, import, rename, pin, archive, prune and delete.',
  ],
  [
    ['sessions', 'serach', 'x'],
    'sessions knows list, show, search, fork, export, import, rename, pin, archive, prune and delete, not "serach". Did you mean sessions search?',
  ],
  [['sessions', 'list', 'x'], 'Unexpected argument "x".'],
  [['sessions', 'list', '--all', '--project', '.'], '--all and --project exclude each other. Leave one out.'],
  [['sessions', 'list', '--harness', 'codex'], '--harness goes with --native.'],
  [['sessions', 'show'], 'Say which one: the id of a session is missing.'],
  [['sessions', 'show', 'a', 'b'], 'Unexpected argument "b".'],
  [['sessions', 'search'], 'Say what to search for.'],
  [['sessions', 'import', 'x', '--file', 'y'], '--file goes without an id and without --harness.'],
  [['replay'], 'Say which one: the id of a session is missing.'],
  [['replay', 'x', '--speed', '-1'], '--speed needs a value. If it begins with a dash, write --speed=-1.'],
  [
    ['replay', 'x', '--speed', 'fast'],
    '--speed must be a number above 0 and up to 10000, or "max", not "fast".',
  ],
])('%j is refused', async (args, message) => {
  const { run } = await createWorld()
  expect(await run(args)).toEqual(usage(message))
})

test('a session is renamed, pinned, archived and put back, in the files when no process has its project', async () => {
  const world = await createWorld()
  const { id } = await stored(world, 'The heron')
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.run(['sessions', ...args])
    return { code, text: stdout + stderr, shelf: (await storeOf(world).get(id))?.shelf }
  }
  const name = `${id} (The grey heron)`
  expect(await run('rename', id.slice(0, 12), 'The', 'grey heron')).toMatchObject({
    ...{ code: 0, text: `Renamed ${name}.\n` },
  })
  expect(await run('archive', id, '--undo')).toMatchObject({
    ...{ code: 2, text: expect.stringContaining(`${name} is not archived.`) },
  })
  expect(await run('pin', id)).toEqual({ code: 0, text: `Pinned ${name}.\n`, shelf: 'pinned' })
  expect(await run('pin', id, '--undo')).toEqual({
    ...{ code: 0, text: `No longer pinned: ${name}.\n`, shelf: null },
  })
  // The process that has the project would write its own state over it.
  const lock = await lockProject(world.project, { address: 'chirality run' })
  expect(await run('archive', id)).toMatchObject({ code: 1, shelf: null })
  await lock.release()
})

test('usage sums up what the sessions cost, as lines, JSON and CSV', async () => {
  const world = await createWorld()
  await stored(world, 'First')
  await stored(world, 'Second')
  const { stdout: lines } = await world.run(['usage', '--by', 'agent', '--days', '90'])
  expect(lines).toBe('claude-code  ≈ $0.5000  0 tokens\ntotal        ≈ $0.5000  0 tokens\n')
  const [report] = jsonLines<UsageReport>((await world.run(['usage', '--json', '--all'])).stdout)
  expect(report?.times).toHaveLength(30)
  expect(report?.rows.reduce((sum, { usd }) => sum + usd, 0)).toBe(0.5)
  const { stdout: csv } = await world.run(['usage', '--csv'])
  expect(csv).toMatch(/^time,project,agent,model,persona,usd,estimate,tokens,unpriced_tokens,machine\n/)
  expect(csv).toContain(`,${world.project},claude-code,,,0.5,`)
  expect(await world.run(['usage', '--by', 'week'])).toMatchObject({ code: 2 })
})

describe('sessions prune', () => {
  /** A raw log of a turn that ended so many days ago. */
  function rawLog(project: string, daysAgo: number): string {
    const folder = path.join(project, '.chirality/logs/claude-code')
    mkdirSync(folder, { recursive: true })
    const file = path.join(folder, `2020010${daysAgo % 9}T000000000Z-s${daysAgo}-t.ndjson`)
    writeFileSync(file, 'x'.repeat(1_500_000))
    const at = new Date(Date.now() - daysAgo * 24 * 60 * 60 * 1000)
    utimesSync(file, at, at)
    return file
  }

  test('says what would go, deletes it with --yes, and needs a limit', async () => {
    const world = await createWorld()
    const { id } = await stored(world, 'The heron')
    const [old, recent] = [rawLog(world.project, 40), rawLog(world.project, 2)]
    expect(await world.run(['sessions', 'prune'])).toEqual(
      usage('Say which raw logs go: --older-than DAYS, or --max-gb N for all but the newest.'),
    )
    expect(await world.run(['sessions', 'prune', '--max-gb', 'many'])).toMatchObject({ code: 2, stdout: '' })
    const asked = await world.run(['sessions', 'prune', '--older-than', '30'])
    expect(asked).toMatchObject({ code: 0, stderr: '' })
    expect(asked.stdout).toMatch(/^1 raw log \(1\.5 MB\) would be deleted\./)
    expect(existsSync(old)).toBe(true)
    const { stdout } = await world.run(['sessions', 'prune', '--older-than', '30', '--yes'])
    expect(stdout).toBe('Deleted 1 raw log (1.5 MB).\n')
    expect([existsSync(old), existsSync(recent)]).toEqual([false, true])
    const sized = await world.run(['sessions', 'prune', '--max-gb', '0.001', '--yes', '--json'])
    expect(jsonLines(sized.stdout)).toEqual([{ logs: 1, bytes: 1_500_000 }])
    expect((await world.run(['sessions', 'show', id])).stdout).toContain('In the lake.')
  })
})
