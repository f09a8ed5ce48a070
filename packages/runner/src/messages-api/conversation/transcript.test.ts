import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readTranscript, Transcript } from './transcript.ts'

test('a FIFO in place of a transcript is refused without blocking', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-transcript-'))
  const folder = path.join(root, '.chirality', 'state', 'messages-api')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    const made = await Transcript.create(root, 'conversation-1', [{ role: 'user', content: 'Hi' }])
    made.close()
    expect(await readTranscript(root, 'conversation-1')).toHaveLength(1)
    execFileSync('mkfifo', [path.join(folder, 'conversation-2.ndjson')])
    await expect(readTranscript(root, 'conversation-2')).rejects.toThrow('no file')
    await expect(Transcript.open(root, 'conversation-2')).rejects.toMatchObject({ code: 'ENXIO' })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
