(module (memory 17) (data (i32.const 0) "x") (table 20000 funcref) (func $s (loop (br 0))) (start $s) (func (export "decide") (param f64 f64 f64 f64 f64 f64 f64 f64 f64) (result f64) f64.const nan))
