import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TurnRecordFile, TurnRecordKeeper } from './turn-record.ts'

const SESSION = '11111111-2222-4333-8444-555555555555'
let root = ''
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'chirality-record-')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function keep() {
  const file = new TurnRecordFile(root, SESSION)
  await file.prepare()
  const keeper = new TurnRecordKeeper(file, {
    turnId: 't',
    message: 'Go',
    harness: 'x',
    processes: [],
    afterSeq: 0,
    budget: { session: { usd: 0, tokens: 0, unpricedTokens: 0, ms: 0 }, turnLimit: {}, personaLimit: {} },
    startedAt: '2026-01-01T00:00:00.000Z',
  })
  keeper.write()
  return { file, keeper, path: join(root, '.chirality', 'state', 'turns', `${SESSION}.json`) }
}

test('a deleted record is written again', async () => {
  const { keeper, path } = await keep()
  rmSync(path)
  expect(await keeper.repair()).toBe(true)
  expect(existsSync(path)).toBe(true)
})

test('the record of a turn that ends while it is being repaired stays away', async () => {
  const { file, keeper, path } = await keep()
  await file.remove('t')
  const repairing = keeper.repair()
  keeper.close()
  expect(await repairing).toBe(false)
  expect(existsSync(path)).toBe(false)
})

test('a record is removed with its own turn only', async () => {
  const { file, path } = await keep()
  await file.remove('another')
  expect(existsSync(path)).toBe(true)
  await file.remove('t')
  expect(existsSync(path)).toBe(false)
})

test('the temporary file of a host killed while writing is removed; those of other sessions stay', async () => {
  const { file, path } = await keep()
  const other = join(dirname(path), `${SESSION.replace('1', '2')}.json.tmp-0123456789ab`)
  for (const left of [`${path}.tmp-0123456789ab`, `${path}.tmp-ba9876543210`, other]) writeFileSync(left, '{')
  await file.remove('another')
  expect(readdirSync(dirname(path))).toHaveLength(4)
  await file.remove('t')
  expect(readdirSync(dirname(path)).map(name => join(dirname(path), name))).toEqual([other])
})
