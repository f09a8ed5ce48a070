import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { spawnAgent } from '../../src/process/agent-process.ts'
import { MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { openFiles } from '../support/open-files.ts'
import {
  collect,
  isRunning,
  jsonValues,
  nextValue,
  openTestSpool,
  program,
  readyPid,
  runProgram,
  script,
  TEST_ENV,
} from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

describe('output', () => {
  test('is every line of stdout and stderr, and ends after the exit', async () => {
    const source = 'console.log("{}"); console.log("junk"); console.error("oh"); process.exit(3)'
    const { outputs, agent } = await runProgram(await script(project.root, source))
    const records = outputs.filter(output => output.kind === 'record')
    expect(records).toMatchObject([
      { record: { kind: 'json', value: {} } },
      { record: { kind: 'malformed', text: 'junk', offset: 3 } },
    ])
    expect(outputs.filter(output => output.kind === 'stderr')).toEqual([{ kind: 'stderr', line: 'oh' }])
    expect(await agent.exited).toMatchObject({ code: 3, signal: null, stopped: false })
    expect(readFileSync(agent.spoolPath, 'utf8')).toBe('{}\njunk\n')
    expect(readFileSync(agent.stderrPath, 'utf8')).toBe('oh\n')
  })

  test('of a program that prints nothing is nothing', async () => {
    const { outputs, agent } = await runProgram(await script(project.root, ''))
    expect(outputs).toEqual([])
    expect(await agent.exited).toMatchObject({ code: 0 })
  })

  test('keeps a last line without a newline', async () => {
    const { outputs } = await runProgram(await script(project.root, 'process.stdout.write("{\\"a\\":1}")'))
    expect(jsonValues(outputs)).toEqual([{ a: 1 }])
  })

  test('survives binary garbage', async () => {
    const source = 'process.stdout.write(Buffer.from([0, 255, 254, 10, 128, 10])); console.log("[1]")'
    const { outputs } = await runProgram(await script(project.root, source))
    expect(outputs).toMatchObject([
      { record: { kind: 'malformed', bytes: 3 } },
      { record: { kind: 'malformed', bytes: 1 } },
      { record: { kind: 'json', value: [1] } },
    ])
  })

  test('has all of a 50 MB line that was written right before the exit', async () => {
    const bytes = 50 * 1024 * 1024
    const { outputs, agent } = await runProgram(await program(project.root, 'big-line', String(bytes)))
    expect(outputs).toHaveLength(1)
    expect(outputs).toMatchObject([{ record: { kind: 'json', bytes: bytes + '{"text":""}'.length } }])
    expect(statSync(agent.spoolPath).size).toBe(bytes + '{"text":""}\n'.length)
  })

  test('names a line over the cap and goes on', async () => {
    const options = await script(project.root, 'console.log("x".repeat(100)); console.log("{}")')
    const { outputs } = await runProgram({ ...options, maxLineBytes: 10 })
    expect(outputs).toMatchObject([{ record: { kind: 'oversize', bytes: 100 } }, { record: { value: {} } }])
  })

  test.each([
    { watch: true, how: 'watching' },
    { watch: false, how: 'polling' },
  ])('has many small writes in order, $how', async ({ watch }) => {
    const options = await program(project.root, 'many-lines', '20000')
    const { outputs } = await runProgram({ ...options, watch })
    expect(jsonValues(outputs)).toEqual(Array.from({ length: 20_000 }, (_, n) => ({ n })))
  })

  test.each([
    { watch: true, how: 'watching' },
    { watch: false, how: 'polling' },
  ])('arrives while the agent runs, $how', async ({ watch }) => {
    const options = await program(project.root, 'echo-lines')
    const agent = await spawnAgent({ ...options, keepInputOpen: true, watch })
    for (let n = 0; n < 20; n += 1) {
      await agent.write(`${JSON.stringify({ n })}\n`)
      expect(await nextValue(agent)).toEqual({ n })
    }
    agent.endInput()
    expect(await collect(agent)).toEqual([])
  })

  test('is a flood of stderr, its beginning and its end, and how many lines are in between', async () => {
    const { outputs } = await runProgram(await program(project.root, 'many-lines', '20000', 'stderr'))
    const told = outputs.map(output => (output.kind === 'stderr' ? output.line : ''))
    const counts = told.map(line => Number(/^\[(\d+) more lines/.exec(line)?.[1] ?? 1))
    expect(counts.reduce((sum, count) => sum + count)).toBe(20_000)
    expect(outputs[0]).toMatchObject({ kind: 'stderr', line: expect.stringContaining('"n":0') })
    expect(outputs.at(-1)).toEqual({ kind: 'stderr', line: '{"n":19999}' })
  })

  test('waits in the file for a reader that paused until the agent was gone', async () => {
    const agent = await spawnAgent(await program(project.root, 'many-lines', '5000'))
    expect(await nextValue(agent)).toEqual({ n: 0 })
    await agent.exited
    expect(jsonValues(await collect(agent))).toHaveLength(4999)
  })

  test('lets timers and sockets have their turn, however far behind the reader is', async () => {
    const source =
      'process.stdout.write(JSON.stringify({ text: "x".repeat(90) }).concat("\\n").repeat(400_000))'
    const agent = await spawnAgent(await script(project.root, source))
    await agent.exited
    let turns = 0
    let counting = true
    const count = () => {
      turns += 1
      if (counting) setImmediate(count)
    }
    setImmediate(count)
    expect(await collect(agent)).toHaveLength(400_000)
    counting = false
    expect(turns).toBeGreaterThan(1)
  })

  test('can be left and taken up again without losing a line', async () => {
    const agent = await spawnAgent(await program(project.root, 'many-lines', '100'))
    await agent.exited
    for (let n = 0; n < 100; n += 1) expect(await nextValue(agent)).toEqual({ n })
    expect(await collect(agent)).toEqual([])
  })

  test('has one reader at a time', async () => {
    const agent = await spawnAgent(await program(project.root, 'stubborn'))
    await agent.read()
    const first = agent.read()
    await expect(agent.read()).rejects.toThrow('one reader')
    await agent.stop({ interruptGraceMs: 0 })
    await first
    await agent.close()
  })
})

describe('exit', () => {
  test.each([0, 1, 42])('code %i is reported', async code => {
    const { agent } = await runProgram(await script(project.root, `process.exit(${code})`))
    expect(await agent.exited).toMatchObject({ code, signal: null })
  })

  test.each(['SIGSEGV', 'SIGKILL', 'SIGABRT'] as const)(
    '%s is reported, not taken for success',
    async signal => {
      const { agent } = await runProgram(
        await script(project.root, `process.kill(process.pid, "${signal}"); setInterval(() => {}, 1e6)`),
      )
      expect(await agent.exited).toMatchObject({ code: null, signal })
    },
  )
})

describe('stdin', () => {
  const prompt = 'x'.repeat(8 * 1024 * 1024)

  test('8 MB arrive whole', async () => {
    const options = await program(project.root, 'hash-stdin')
    const { outputs } = await runProgram({ ...options, stdin: prompt })
    const sha256 = createHash('sha256').update(prompt).digest('hex')
    expect(jsonValues(outputs)).toEqual([{ bytes: prompt.length, sha256 }])
  })

  test('bytes are written as they are', async () => {
    const stdin = Uint8Array.of(0, 255, 10, 128)
    const { outputs } = await runProgram({ ...(await program(project.root, 'hash-stdin')), stdin })
    const sha256 = createHash('sha256').update(stdin).digest('hex')
    expect(jsonValues(outputs)).toEqual([{ bytes: 4, sha256 }])
  })

  test('is empty when nothing is given', async () => {
    const { outputs } = await runProgram(await program(project.root, 'hash-stdin'))
    expect(jsonValues(outputs)).toMatchObject([{ bytes: 0 }])
  })

  test('that nobody reads does no harm', async () => {
    const { agent } = await runProgram({ ...(await script(project.root, 'process.exit(0)')), stdin: prompt })
    expect(await agent.exited).toMatchObject({ code: 0 })
  })

  test('that was closed at the other end makes write say so', async () => {
    const agent = await spawnAgent({ ...(await program(project.root, 'deaf')), keepInputOpen: true })
    await readyPid(agent)
    expect(await agent.write(prompt)).toBe(false)
    expect(await agent.write('more')).toBe(false)
    await agent.stop({ interruptGraceMs: 0 })
    await agent.close()
  })

  test('of a dead agent makes write say so, also for a write under way', async () => {
    const agent = await spawnAgent({ ...(await program(project.root, 'stubborn')), keepInputOpen: true })
    await readyPid(agent)
    const underWay = agent.write(prompt)
    agent.signal('SIGKILL')
    expect(await underWay).toBe(false)
    await agent.exited
    expect(await agent.write('more')).toBe(false)
    expect(agent.signal('SIGINT')).toBe(false)
    agent.endInput()
    await agent.close()
  })

  test('stays open after a first message', async () => {
    const options = await program(project.root, 'echo-lines')
    const agent = await spawnAgent({ ...options, stdin: '{"n":1}\n', keepInputOpen: true })
    expect(await nextValue(agent)).toEqual({ n: 1 })
    expect(await agent.write('{"n":2}\n')).toBe(true)
    expect(await nextValue(agent)).toEqual({ n: 2 })
    agent.endInput()
    await collect(agent)
  })
})

describe('the environment', () => {
  test('is what was given and the marker, nothing of ours', async () => {
    const options = await script(project.root, 'console.log(JSON.stringify(process.env))')
    const { outputs, agent } = await runProgram({ ...options, env: { ...TEST_ENV, ONE: '1' } })
    const { __CF_USER_TEXT_ENCODING, ...env } = jsonValues(outputs)[0] as Record<string, string>
    expect(env).toEqual({ ...TEST_ENV, ONE: '1', [MARKER_VARIABLE]: agent.marker })
  })

  test('keeps the marker of an agent that runs us', async () => {
    const outer = 'aaaaaaaa-outer'
    const options = await script(project.root, `console.log(JSON.stringify(process.env.${MARKER_VARIABLE}))`)
    const { outputs, agent } = await runProgram({
      ...options,
      env: { ...TEST_ENV, [MARKER_VARIABLE]: outer },
    })
    expect(jsonValues(outputs)).toEqual([`${outer}:${agent.marker}`])
  })
})

describe('nothing stays open', () => {
  test('after the output has ended', async () => {
    const { agent } = await runProgram(await script(project.root, 'console.error("kept")'))
    expect(await openFiles(project.root)).toEqual([])
    expect(existsSync(agent.stderrPath)).toBe(true)
  })

  test('after a stop without reading', async () => {
    const watchers = () => process.getActiveResourcesInfo().filter(name => name.includes('FSEvent')).length
    const before = watchers()
    const agent = await spawnAgent(await program(project.root, 'stubborn'))
    expect(await openFiles(project.root)).not.toEqual([])
    await agent.stop({ interruptGraceMs: 0 })
    await agent.close()
    await agent.close()
    expect(await openFiles(project.root)).toEqual([])
    expect(watchers()).toBe(before)
    expect(await isRunning(agent.pid)).toBe(false)
    expect(await collect(agent)).toEqual([])
  })

  test('a spool that was never used can be discarded', async () => {
    const spool = await openTestSpool(project.root)
    await spool.discard()
    expect(existsSync(spool.path)).toBe(false)
    expect(await openFiles(project.root)).toEqual([])
  })
})

describe('what is printed beyond measure', () => {
  test('a disk that is full stops the agent, and it is said why', async () => {
    const options = await script(project.root, 'setInterval(() => console.log("{}"), 5)')
    // More than any disk has: the look at the space is real.
    const agent = await spawnAgent({ ...options, minFreeBytes: Number.MAX_SAFE_INTEGER })
    await collect(agent)
    expect(agent.fault).toContain('is full')
    expect(await agent.exited).toMatchObject({ stopped: true })
  })

  test.each([
    ['and then says no more', `write('{"n":1}\\n{"text":"some wo'); setInterval(() => {}, 1000)`],
    ['and goes on after a gap', `write('{"text":"some wo{"n":2}\\n'); setInterval(() => {}, 1000)`],
  ])('an agent whose output breaks off in a line %s is stopped, and it is said why', async (_how, source) => {
    const write = "const write = text => require('node:fs').writeSync(1, text);"
    const agent = await spawnAgent({ ...(await script(project.root, write + source)), tornMs: 100 })
    await collect(agent)
    expect(agent.fault).toContain('breaks off in the middle of a line')
    expect(await agent.exited).toMatchObject({ stopped: true })
  })

  test('an agent that dies in the middle of a line has lost output, one that ends with words has not', async () => {
    const torn = await runProgram(await script(project.root, `process.stdout.write('{"text":"some wo')`))
    expect(torn.agent.fault).toContain('breaks off')
    const words = await runProgram(await script(project.root, `process.stdout.write('{}\\nbye')`))
    expect(words.agent.fault).toBeNull()
  })

  test('a flood of junk lines and of stderr is few outputs, and no line is uncounted', async () => {
    const source = `
      const { writeSync } = require('node:fs')
      const lines = fd => { for (let i = 0; i < 100; i += 1) writeSync(fd, 'not json at all\\n'.repeat(2000)) }
      lines(1); lines(2)`
    const { outputs } = await runProgram(await script(project.root, source))
    const junk = outputs.flatMap(output =>
      output.kind === 'record' && output.record.kind === 'malformed' ? (output.record.lines ?? 1) : [],
    )
    expect(junk.reduce((sum, lines) => sum + lines)).toBe(200_000)
    expect(junk.length).toBeLessThan(50)
    const told = outputs.flatMap(output => (output.kind === 'stderr' ? [output.line] : []))
    const lines = told.map(line => Number(/^\[(\d+) more lines/.exec(line)?.[1] ?? 1))
    expect(lines.reduce((sum, count) => sum + count)).toBe(200_000)
    expect(told.length).toBeLessThan(5_000)
  })
})
