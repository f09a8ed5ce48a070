import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { notice, startTestServer } from './support/test-server.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

test.each([
  ['the README', new URL('../README.md', import.meta.url)],
  ['docs/api.md', new URL('../../../docs/api.md', import.meta.url)],
])(
  'the TypeScript example in %s compiles under strict types, and prints the events of a session',
  async (_name, file) => {
    const server = await startTestServer()
    const { id } = await server.host.createSession(server.project, { title: 'Docs' })
    const { log } = await server.host.session(id)
    log.append(notice(id, 'Hello.'), { turnId: null })
    log.append({ type: 'turn:end', sessionId: id, reason: 'completed' }, { turnId: 't' })
    await log.flush()
    const [example = ''] = [...readFileSync(file, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(
      match => match[1],
    )
    const folder = mkdtempSync(path.join(here, '.docs-example-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(path.join(folder, 'example.ts'), example)
    const options = { extends: '../../tsconfig.json', include: ['example.ts'] }
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(options))
    const tsc = path.join(here, '..', 'node_modules', '.bin', 'tsc')
    const compiled = await promisify(execFile)(tsc, ['-p', folder]).catch(
      (error: { stdout: string }) => error,
    )
    expect(compiled.stdout).toBe('')
    const program = ['--import', 'tsx', '--conditions=@chirality/source', path.join(folder, 'example.ts')]
    const args = [...program, server.url, server.token, id]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
    expect(stdout).toBe('Docs\n1 status\n2 turn:end\n')
  },
)
