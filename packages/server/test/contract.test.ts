import { readFileSync } from 'node:fs'
import { type AnyCall, checkAnswers, checked, EVERY_CALL } from '@chirality/centre'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ENDPOINTS } from '../src/contract/endpoints.ts'
import { openApi } from '../src/contract/openapi.ts'
import { appRouter } from '../src/trpc/router.ts'
import { startTestServer } from './support/test-server.ts'

const read = (file: string) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))

interface Procedure {
  _def: { type: string; inputs: z.ZodType[]; output?: { schema: z.ZodType } }
}

const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, Procedure>)

test('every procedure takes and answers what the contract says, by the schemas of the contract', () => {
  const contract = EVERY_CALL
  expect(procedures.map(([path]) => path).sort()).toEqual([...contract.keys()].sort())
  for (const [path, { _def }] of procedures) {
    const call = contract.get(path) as AnyCall
    const { input } = call
    const output = 'output' in call ? call.output : undefined
    const yields = 'yields' in call ? call.yields : undefined
    expect(_def.inputs, path).toEqual(input === undefined ? [] : [input])
    expect(_def.inputs[0], path).toBe(input)
    expect(_def.output?.schema, path).toBe(output)
    expect(yields !== undefined, path).toBe(_def.type === 'subscription')
  }
})

test('every route is an endpoint of the contract, and every endpoint is a route', async () => {
  const { routes } = await startTestServer()
  const undescribed = routes.filter(({ endpoint }) => endpoint === null)
  expect(new Set(undescribed.map(({ path }) => path))).toEqual(new Set(['/trpc/*']))
  const described = routes.flatMap(({ endpoint }) => endpoint ?? [])
  expect(new Set(described)).toEqual(new Set(Object.values(ENDPOINTS)))
  expect(described).toHaveLength(Object.keys(ENDPOINTS).length)
})

test('docs/openapi.json is what the contract says now: `pnpm openapi` in packages/server writes it', () => {
  const { version } = read('../package.json') as { version: string }
  expect(read('../../../docs/openapi.json')).toEqual(openApi(version))
})

test('the server serves its own description, with every route and procedure in it', async () => {
  const server = await startTestServer()
  const served = await (await server.fetch('/openapi.json')).json()
  expect(served).toEqual(openApi('1.2.3'))
  const paths = new Set(Object.keys(served.paths))
  for (const [path, { _def }] of procedures)
    expect(paths.has(`/trpc/${path}`), path).toBe(_def.type !== 'subscription')
  for (const { path } of Object.values(ENDPOINTS)) expect(paths).toContain(path.replace(/:(\w+)/g, '{$1}'))
})

test('an answer that is not what its schema says is an error in tests, and passes as it is otherwise', () => {
  const asNumber = checked(z.strictObject({ n: z.number() }))
  const wrong = { n: 1, more: 2 }
  checkAnswers(false)
  expect(asNumber(wrong)).toBe(wrong)
  checkAnswers()
  expect(() => asNumber(wrong)).toThrow('An answer is not what the contract says')
  expect(asNumber({ n: 1, left: undefined })).toEqual({ n: 1 })
})

test('usage over time is asked for in a time zone that exists, for one to 90 days', async () => {
  const server = await startTestServer()
  const ask = async (input: object) =>
    server.fetch(`/trpc/sessions.usage?input=${encodeURIComponent(JSON.stringify(input))}`)
  const fine = await ask({ timeZone: 'Asia/Kathmandu', days: 7 })
  expect([fine.status, (await fine.json()).result.data.times.length]).toEqual([200, 7])
  const hour = await ask({ timeZone: 'UTC', days: 1, project: server.project })
  expect((await hour.json()).result.data).toMatchObject({ rows: [], sessionCount: 0, plans: [] })
  for (const wrong of [{ timeZone: 'Mars/Base', days: 7 }, { timeZone: '', days: 7 }, { timeZone: 'UTC' }])
    expect((await ask(wrong)).status).toBe(400)
  for (const days of [0, 91, 1.5, '7']) expect((await ask({ timeZone: 'UTC', days })).status).toBe(400)
  expect((await ask({ timeZone: 'UTC', days: 7, project: '/etc' })).status).toBe(403)
})
