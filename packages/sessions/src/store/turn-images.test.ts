import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { TurnImages } from './turn-images.ts'

const project = mkdtempSync(path.join(tmpdir(), 'chirality-images-'))
afterAll(() => rmSync(project, { recursive: true, force: true }))

const [one, two] = ['0c8b5f6e-6a53-4c6e-9a8e-0d3a3d0b6b01', '0c8b5f6e-6a53-4c6e-9a8e-0d3a3d0b6b02']
const folder = path.join(project, '.chirality', 'state', 'images')
const image = {
  type: 'image' as const,
  source: { kind: 'base64' as const, data: 'AAAA', mediaType: 'image/png' },
}
const kept = { mediaType: 'image/png', data: 'AAAA' }

test('the images of a turn are kept, copied for a fork, and removed with their session', async () => {
  const images = new TurnImages(project, one)
  expect(await images.read('t1')).toEqual([])
  await images.keep('t1', [{ type: 'text', text: 'between' }, image, image])
  expect(await images.read('t1')).toEqual([kept, kept])
  expect(await images.read('t2')).toEqual([])
  await images.copyTo(two)
  await images.remove()
  expect(await images.read('t1')).toEqual([])
  expect(await new TurnImages(project, two).read('t1')).toEqual([kept, kept])
})

test('a turn without images writes no file', async () => {
  await new TurnImages(project, one).keep('t3', [{ type: 'text', text: 'only words' }])
  expect(readdirSync(folder).filter(name => name.startsWith(one))).toEqual([])
})

test('what is no list of images, a link or a path in the place of a turn gives none', async () => {
  mkdirSync(folder, { recursive: true })
  const images = new TurnImages(project, one)
  const put = (turn: string, text: string) => writeFileSync(path.join(folder, `${one}-${turn}.json`), text)
  put('odd', '[{"mediaType":"text/html","data":"x"},{"data":1},null,{"mediaType":"image/png","data":"QQ=="}]')
  expect(await images.read('odd')).toEqual([{ mediaType: 'image/png', data: 'QQ==' }])
  put('broken', '[{"mediaType"')
  expect(await images.read('broken')).toEqual([])
  symlinkSync('/dev/zero', path.join(folder, `${one}-link.json`))
  expect(await images.read('link').catch(() => [])).toEqual([])
  expect(await images.read('../../../../etc/passwd')).toEqual([])
})
