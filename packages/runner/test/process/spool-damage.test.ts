import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnAgent } from '../../src/process/agent-process.ts'
import { collect, jsonValues, nextOutput, nextValue, program, readyPid } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

describe('the raw log under attack', () => {
  test('a deleted folder is reported, reading goes on, and the log is written again', async () => {
    const agent = await spawnAgent({ ...(await program(project.root, 'echo-lines')), keepInputOpen: true })
    await agent.write('{"n":1}\n')
    expect(await nextValue(agent)).toEqual({ n: 1 })
    rmSync(join(project.root, '.chirality'), { recursive: true })
    await agent.write('{"n":2}\n')
    agent.endInput()
    const outputs = await collect(agent)
    expect(jsonValues(outputs)).toEqual([{ n: 2 }])
    expect(outputs).toContainEqual({ kind: 'spool-damaged', path: agent.spoolPath, damage: 'deleted' })
    expect(readFileSync(agent.spoolPath, 'utf8')).toBe('{"n":1}\n{"n":2}\n')
    expect(statSync(agent.spoolPath).mode & 0o777).toBe(0o600)
    expect(existsSync(agent.stderrPath)).toBe(false)
  })

  test('a deletion is noticed while the agent is silent', async () => {
    const agent = await spawnAgent(await program(project.root, 'stubborn'))
    await readyPid(agent)
    rmSync(agent.spoolPath)
    expect(await nextOutput(agent)).toEqual({
      kind: 'spool-damaged',
      path: agent.spoolPath,
      damage: 'deleted',
    })
    await agent.stop({ interruptGraceMs: 0 })
    await agent.close()
  })

  test('a cut file is reported and what comes after is read', async () => {
    const agent = await spawnAgent({ ...(await program(project.root, 'echo-lines')), keepInputOpen: true })
    await agent.write('{"n":1}\n')
    expect(await nextValue(agent)).toEqual({ n: 1 })
    truncateSync(agent.spoolPath)
    expect(await nextOutput(agent)).toEqual({
      kind: 'spool-damaged',
      path: agent.spoolPath,
      damage: 'truncated',
    })
    await agent.write('{"n":2}\n')
    expect(await nextValue(agent)).toEqual({ n: 2 })
    agent.endInput()
    expect(await collect(agent)).toEqual([])
    expect(readFileSync(agent.spoolPath, 'utf8')).toBe('{"n":2}\n')
  })

  test('a project that is gone altogether is not brought back', async () => {
    const root = join(project.root, 'short-lived')
    mkdirSync(root)
    const options = await program(root, 'echo-lines')
    const agent = await spawnAgent({ ...options, keepInputOpen: true })
    await agent.write('{"n":1}\n')
    expect(await nextValue(agent)).toEqual({ n: 1 })
    rmSync(root, { recursive: true })
    agent.endInput()
    await collect(agent)
    expect(existsSync(root)).toBe(false)
  })
})
