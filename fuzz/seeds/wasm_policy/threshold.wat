(module (func (export "decide") (param f64 f64 f64 f64 f64 f64 f64 f64 f64) (result f64) (select (f64.const 0.05) (f64.const 0) (f64.gt (local.get 1) (f64.const 0.015)))))
