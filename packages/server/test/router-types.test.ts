import type { StoredSession } from '@chirality/sessions'
import { expectTypeOf, test } from 'vitest'
import type { CallInputs, CallOutputs } from '../src/index.ts'

test('the router that is made of the calls has their exact types', () => {
  expectTypeOf<CallInputs['turns']['queue']['move']>().toEqualTypeOf<{
    sessionId: string
    id: string
    index: number
  }>()
  expectTypeOf<CallOutputs['turns']['start']>().toEqualTypeOf<{ turnId: string }>()
  expectTypeOf<CallOutputs['sessions']['get']['title']>().toEqualTypeOf<StoredSession['title']>()
  expectTypeOf<CallOutputs['sessions']['discard']['undoSeconds']>().toEqualTypeOf<number>()
  expectTypeOf<{ project: string }>().toExtend<CallInputs['loops']['list']>()
  expectTypeOf<{ project: number }>().not.toExtend<CallInputs['loops']['list']>()
  expectTypeOf<undefined>().toExtend<CallInputs['loops']['list']>()
  // @ts-expect-error There is no such call: were the router any, this would compile.
  expectTypeOf<CallInputs['turns']['noSuchCall']>().toBeAny()
})
