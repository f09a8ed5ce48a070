import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { TEST_ENV } from '../../../test/support/programs.ts'
import {
  chainMarker,
  findAllMarked,
  findByMarker,
  MARKER_VARIABLE,
  parseMarkers,
  parsePsEnvironments,
} from './leftovers.ts'

const children: ChildProcess[] = []

afterEach(endAll)

async function endAll(): Promise<void> {
  for (const child of children.splice(0)) {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}

/** Starts a process and waits until it has executed its program: only then is the environment its own. */
async function startMarked(value: string): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1e6)'], {
    env: { ...TEST_ENV, [MARKER_VARIABLE]: value },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child.pid ?? 0
}

describe('finding', () => {
  test('a marker finds its processes and no others', async () => {
    const marker = randomUUID()
    const pids = [await startMarked(marker), await startMarked(marker)]
    const other = await startMarked(randomUUID())
    const found = (await findByMarker(marker)).map(entry => entry.pid)
    expect(found.sort()).toEqual(pids.sort())
    expect(found).not.toContain(other)
    expect((await findAllMarked()).map(entry => entry.pid)).toEqual(expect.arrayContaining([...pids, other]))
  })

  test('a nested run is found by the outer marker and by its own', async () => {
    const [outer, inner] = [randomUUID(), randomUUID()]
    const pid = await startMarked(chainMarker(inner, outer))
    expect(await findByMarker(outer)).toMatchObject([{ pid, markers: [outer, inner] }])
    expect(await findByMarker(inner)).toMatchObject([{ pid }])
  })

  test('part of a marker finds nothing', async () => {
    const marker = randomUUID()
    await startMarked(marker)
    expect(await findByMarker(marker.slice(0, 8))).toEqual([])
    expect(await findByMarker('')).toEqual([])
  })

  test('a process that has exited is not found', async () => {
    const marker = randomUUID()
    await startMarked(marker)
    await endAll()
    expect(await findByMarker(marker)).toEqual([])
  })
})

describe('markers', () => {
  test('nonsense that we inherited is left out', () => {
    expect(chainMarker('own-marker', undefined)).toBe('own-marker')
    expect(chainMarker('own-marker', '')).toBe('own-marker')
    expect(chainMarker('own-marker', 'a b:short:../../x')).toBe('own-marker')
  })

  test('the chain of markers has a limited length', () => {
    let chain = ''
    for (let n = 0; n < 100; n += 1) chain = chainMarker(randomUUID(), chain)
    expect(parseMarkers(chain)).toHaveLength(9)
  })

  test('are read from what macOS prints', () => {
    const output = [
      `  501 node agent.js HOME=/Users/x ${MARKER_VARIABLE}=aaaaaaaa-1:bbbbbbbb-2 TERM=dumb`,
      `  502 grep ${MARKER_VARIABLE}`,
      '  503 sh -c true PATH=/bin',
      '',
    ].join('\n')
    expect(parsePsEnvironments(output, MARKER_VARIABLE)).toEqual(new Map([[501, 'aaaaaaaa-1:bbbbbbbb-2']]))
  })
})
