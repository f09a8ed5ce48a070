import { useEffect } from 'react'
import { dropKeys } from './type-ahead.ts'

/**
 * For what stands where a page has its field otherwise: letters wait for it no longer. Without this they are lost as
 * shortcuts and as answers, and stand in the field that comes at last.
 */
export function useNoField(isSo = true): void {
  useEffect(() => {
    if (isSo) dropKeys()
  }, [isSo])
}
