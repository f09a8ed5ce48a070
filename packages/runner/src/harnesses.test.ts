import { describe, expect, test } from 'vitest'
import { HARNESSES } from './harnesses.ts'

const all = HARNESSES.map(descriptor => [descriptor.meta.id, descriptor] as const)

test('every harness is in the list once, and those that others are named by are there', () => {
  const ids = HARNESSES.map(({ meta }) => meta.id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { meta } of HARNESSES) expect([...ids, undefined]).toContain(meta.nativeSessions)
})

describe.each(all)('%s', (id, { meta, capabilities, create }) => {
  test('the harness that its descriptor makes says the same of itself', async () => {
    const harness = await create({ environment: {} })
    expect(harness).toMatchObject({ id })
    expect(harness.meta()).toEqual(meta)
    expect(harness.capabilities()).toEqual(capabilities)
    await harness.close()
  })

  test('a capability and the method behind it are one fact', async () => {
    const harness = await create({ environment: {} })
    expect(harness.steer !== undefined).toBe(capabilities.supportsSteering)
    expect(harness.prewarm !== undefined).toBe(capabilities.supportsPrewarm)
    const keeps = meta.nativeSessions !== undefined
    expect(harness.listNativeSessions !== undefined).toBe(keeps)
    expect(harness.importSession !== undefined).toBe(keeps)
    await harness.close()
  })

  test('a program to install has its versions, and a credential its variable', () => {
    expect(meta.versions !== undefined).toBe(meta.install !== undefined)
    expect(meta.environment?.names).toContain(meta.login?.variable)
  })
})
