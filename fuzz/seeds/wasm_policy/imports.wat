(module (import "env" "clock" (func)) (func (export "decide")))
