/** The entry `colloquy/snapshot`: a state as bytes, to open a long log without replaying it. */

export { canReduce, decodeSnapshot, encodeSnapshot, evict, isEvicted } from '../snapshot.ts'
